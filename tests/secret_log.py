"""A node's directory whose log holds a secret in every way that a metadata log can."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from replica.format.file_names import METADATA_FOLDER
from replica.format.record import Record, encode_records
from replica.message.schema import Value
from replica.metadata.codec import encode
from replica.metadata.record import new_record
from tests.replica.format.encoded import encode_batch

CLUSTER = "c2VjcmV0LWNsdXN0ZXItMA"
SECRET = "hunter2"  # noqa: S105 - nobody's
"""The text that every secret has, in plain text or in base64."""
TIME = 1_700_000_000_000
_CONTROL = 0x20

SECRET_CONFIGS = {
    "ssl.keystore.password": "hunter2-keystore",
    "listener.name.x.plain.sasl.jaas.config": 'x required username="u" password="hunter2-jaas";',
    "connection.url": "jdbc:postgresql://u:hunter2-url@db/x",
    "sasl.oauthbearer.jwks.endpoint.url": "https://u:hunter2-jwks@idp/keys",
    "datadog.api.key": "hunter2-api",
    "db.pwd": "hunter2-pwd",
    "my.credential": "hunter2-credential",
    "basic.auth.user.info": "user:hunter2-basic",
    "signing.private.key": "-----BEGIN PRIVATE KEY-----hunter2-private",
    "http.auth.header": "Bearer hunter2-header",
    "sslKeyStorePassWord": "hunter2-camel",
}
PLAIN_CONFIGS = {"retention.ms": "604800000", "listener.name.x.ssl.protocol": "TLSv1.3"}


def config(name: str, value: str) -> bytes:
    fields: dict[str, Value] = {"resourceType": 4, "resourceName": "1", "name": name}
    return encode(new_record("CONFIG_RECORD", 0, {**fields, "value": value}))


def plain(name: str) -> bytes:
    return encode(new_record("TOPIC_RECORD", 0, {"name": name}))


def known_secrets() -> Iterator[bytes]:
    """Values of records that are sound and known, each of which holds a secret."""
    yield from (config(name, value) for name, value in SECRET_CONFIGS.items())
    keys: dict[str, Value] = {name: b"hunter2-" + name.encode() for name in ("salt", "storedKey")}
    scram: dict[str, Value] = {"name": "alice", "mechanism": 1, "iterations": 4096, **keys}
    yield encode(
        new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, {**scram, "serverKey": b"hunter2-server"})
    )
    yield encode(new_record("DELEGATION_TOKEN_RECORD", 0, {"tokenId": "hunter2-token"}))


def level(feature_level: int = 20, name: str = "metadata.version") -> bytes:
    """A level of a feature. Without metadata.version's level no state can be restored."""
    fields: dict[str, Value] = {"name": name, "featureLevel": feature_level}
    return encode(new_record("FEATURE_LEVEL_RECORD", 0, fields))


def secret_values() -> Iterator[bytes]:
    """Values of metadata records, each of which holds a secret."""
    yield from known_secrets()
    yield b"\x01\x78\x00hunter2-unknown"
    yield config("ssl.key.password", "hunter2-cut")[:-4]
    yield plain("tagged")[:-1] + b"\x01\x63\x0ehunter2-tagged"


def batch(base_offset: int, values: Sequence[bytes], epoch: int = 1) -> bytes:
    """A batch. The first record has the time TIME, each later record 1 ms more than the record
    before."""
    records = [Record(base_offset + i, TIME + i, None, value) for i, value in enumerate(values)]
    return _encoded(base_offset, records, epoch)


def control_batch(base_offset: int, type_code: int, value: bytes, epoch: int = 1) -> bytes:
    key = struct.pack(">hh", 0, type_code)
    return _encoded(base_offset, [Record(base_offset, TIME, key, value)], epoch, _CONTROL)


def _encoded(base_offset: int, records: list[Record], epoch: int, attributes: int = 0) -> bytes:
    return encode_batch(
        base_offset=base_offset,
        leader_epoch=epoch,
        records=encode_records(records, base_offset, TIME),
        record_count=len(records),
        last_offset_delta=len(records) - 1,
        base_timestamp=TIME,
        max_timestamp=TIME + len(records) - 1,
        attributes=attributes,
    )


def log() -> bytes:
    """Batches with secrets between batches without secrets; a batch with a wrong CRC; and bytes
    that are no batch."""
    parts: list[bytes] = []
    offset = 0

    def add(made: bytes, count: int = 1) -> None:
        nonlocal offset
        parts.append(made)
        offset += count

    add(batch(offset, [plain("first"), *(config(*one) for one in PLAIN_CONFIGS.items())]), 3)
    for number, value in enumerate(secret_values()):
        add(batch(offset, [value]))
        add(batch(offset, [plain(f"between-{number}")]))
    values = [plain("a"), *secret_values(), plain("b")]
    add(batch(offset, values), len(values))
    add(control_batch(offset, 9, b"hunter2-control"))
    damaged = bytearray(batch(offset, [config("ssl.key.password", "hunter2-damaged")]))
    damaged[20] ^= 1
    add(bytes(damaged))
    add(batch(offset, [plain("last")]))
    return b"".join(parts) + b"\0\0\0\0\0\0\1\0junk-hunter2-junk"


def sound_log() -> bytes:
    """Secrets that a state has, and secrets that were changed or removed."""
    values = [level(), plain("first"), *known_secrets()]
    later = [config(name, f"{value}-new") for name, value in SECRET_CONFIGS.items()]
    gone: dict[str, Value] = {"name": "alice", "mechanism": 1}
    later.append(encode(new_record("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, gone)))
    return batch(0, values) + batch(len(values), later)


def write_node(
    folder: Path, node_id: int = 1, content: bytes | None = None, *, with_snapshot: bool = True
) -> Path:
    """Writes the node's directory, with a snapshot that holds secrets, too."""
    partition = folder / METADATA_FOLDER
    partition.mkdir(parents=True)
    (partition / f"{0:020d}.log").write_bytes(log() if content is None else content)
    if with_snapshot:
        (partition / f"{2:020d}-{1:010d}.checkpoint").write_bytes(snapshot())
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n1 0\n")
    directory = base64.urlsafe_b64encode(bytes([node_id]) * 16).decode().rstrip("=")
    (folder / "meta.properties").write_text(
        f"version=1\ncluster.id={CLUSTER}\nnode.id={node_id}\ndirectory.id={directory}\n"
    )
    return folder


def snapshot() -> bytes:
    """A snapshot with end offset 2 and epoch 1."""
    values = [plain("first"), config("ssl.keystore.password", "hunter2-keystore")]
    header = struct.pack(">hhq", 0, 0, TIME)[2:] + b"\0"
    return b"".join(
        (
            control_batch(0, 3, header),
            batch(1, values),
            control_batch(3, 4, b"\0\0\0"),
        )
    )
