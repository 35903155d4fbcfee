"""Targets: single records, the state that they add up to, and their forms in tables."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator

from replica.errors import DataError
from replica.format.control import ControlType, decode_control, encode_control
from replica.format.record import Record, records_of
from replica.format.segment import scan
from replica.metadata.codec import decode, encode
from replica.metadata.image.image import Image
from replica.metadata.image.replay import Replay, meaning
from replica.metadata.image.snapshot import to_records
from replica.metadata.json_text import from_plain, json_text, to_plain
from replica.metadata.log_record import LogRecordReader
from replica.metadata.record import MetadataRecord
from replica.metadata.redact import Redactor
from replica.metadata.variant import encode_variant
from replica.metadata.variant_reader import decode_variant, variant_json
from tests.fuzz.guided.target import DATA, Target, refused, require

_READERS = (LogRecordReader(None), LogRecordReader(Redactor(b"a key for tests")))
_MOST_RECORDS = 60


def _metadata(data: bytes) -> None:
    for reader in _READERS:
        reader.read(Record(0, 0, None, data), is_control=False)
    try:
        record = decode(data)
    except DataError as error:
        refused(error, len(data))
        return
    require(encode(record) == data, "a record is written with other bytes")
    plain = to_plain(record)
    require(json.loads(json_text(record)) == plain, "the text is not that of the fields")
    value, metadata = encode_variant(plain)
    require(decode_variant(value, metadata) == plain, "the VARIANT holds something else")
    if isinstance(record, MetadataRecord) and not record.unknown_tags:
        again = from_plain(record.type, record.version, plain)
        require(to_plain(again) == plain, "other fields from JSON")


def _values() -> Iterator[bytes]:
    """Recorded values of every type and version: the first and the shortest of each."""
    found: dict[bytes, list[bytes]] = {}
    for path in sorted(DATA.rglob("*.log")):
        raw = path.read_bytes()
        if len(raw) > 400_000:
            continue
        for batch in scan(raw).batches:
            if batch.header.is_control or not batch.crc_valid:
                continue
            whole = raw[batch.position : batch.position + batch.header.size_bytes]
            for record in records_of(batch.header, whole):
                if record.value and len(record.value) < 400:
                    kept = found.setdefault(record.value[:3], [])
                    if len(kept) < 4:
                        kept.append(record.value)
    for values in found.values():
        yield from values


def _control(data: bytes) -> None:
    """Reads a control record. The first byte is its type."""
    if not data:
        return
    key = struct.pack(">hh", 0, data[0] % 9)
    for reader in _READERS:
        reader.read(Record(0, 0, key, data[1:]), is_control=True)
    try:
        message = decode_control(key, data[1:])
    except DataError as error:
        refused(error, len(data) - 1)
        return
    require(encode_control(message) == (key, data[1:]), f"{message} is written with other bytes")


def _controls() -> Iterable[bytes]:
    for path in (*DATA.rglob("*.log"), *DATA.rglob("*.checkpoint")):
        raw = path.read_bytes()
        for batch in scan(raw[:20_000]).batches:
            if batch.header.is_control and batch.crc_valid:
                whole = raw[batch.position : batch.position + batch.header.size_bytes]
                for record in records_of(batch.header, whole):
                    if record.key and record.value is not None:
                        yield bytes([record.key[3]]) + record.value
    yield bytes([ControlType.SNAPSHOT_FOOTER, 0, 0, 1, 3, 1, 255])


def _parts(data: bytes) -> Iterator[bytes]:
    """The parts of the input, each after its size (int16)."""
    at = 0
    while at + 2 <= len(data):
        (size,) = struct.unpack_from(">H", data, at)
        yield data[at + 2 : at + 2 + size]
        at += 2 + size


def _joined(parts: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack(">H", len(part)) + part for part in parts)


def _image_of(records: Iterable[bytes]) -> Image:
    replay = Replay()
    for offset, value in enumerate(records):
        if offset == _MOST_RECORDS:
            break
        try:
            read = meaning(Record(offset, 0, None, value), is_control=False)
        except DataError as error:
            refused(error)
            continue
        replay.apply(offset, read)  # a refusal may quote a name; the code that shows it escapes it
    return replay.image()


def _replay(data: bytes) -> None:
    """Replays records to a state, and writes the state as a snapshot. A replay of that snapshot
    must give the same snapshot again."""
    image = _image_of(_parts(data))
    list(image.entities())
    replay = Replay()
    records = to_records(image)
    for offset, record in enumerate(records):
        require(replay.apply(offset, record) is None, f"the snapshot's {record} is refused")
    again = to_records(replay.image())
    require(again == records, "the snapshot of a snapshot differs")


def _replays() -> Iterable[bytes]:
    values = list(_values())
    for start in range(0, len(values), 12):
        yield _joined(values[start : start + 12])
    for path in sorted(DATA.rglob("*.log"))[:40]:
        raw = path.read_bytes()[:20_000]
        found = [
            record.value
            for batch in scan(raw).batches
            if not batch.header.is_control and batch.crc_valid
            for record in records_of(
                batch.header, raw[batch.position : batch.position + batch.header.size_bytes]
            )
            if record.value and len(record.value) < 400
        ]
        yield _joined(found[:30])


def _variant(data: bytes) -> None:
    value, metadata = (*_parts(data), b"", b"")[:2]
    try:
        plain = decode_variant(value, metadata)
    except DataError as error:
        refused(error)
        return
    text = variant_json(value, metadata)
    again = decode_variant(*encode_variant(plain))
    # NaN doesn't equal itself, but its text does
    texts = [json.dumps(each, sort_keys=True) for each in (plain, again)]
    require(texts[0] == texts[1], f"{text} is read back as {again!r}")


def _variants() -> Iterable[bytes]:
    plain: list[object] = [None, True, 1, 2**40, "a", "b" * 70, [1, "x"], {"a": {"b": [None]}}]
    for each in (*plain, *(to_plain(decode(value)) for value in _values())):
        yield _joined(encode_variant(each))  # type: ignore[arg-type]


TARGETS = (
    Target(
        "metadata-records",
        "values of metadata records, all types and versions",
        "a record with the same bytes, JSON text, VARIANT and fields from JSON; or the byte",
        _values,
        _metadata,
    ),
    Target(
        "control-records",
        "values of control records",
        "a message with the same bytes, or the byte",
        _controls,
        _control,
        max_bytes=600,
    ),
    Target(
        "replay",
        "sequences of up to 60 metadata records, replayed",
        "an image; what a snapshot of it holds is taken, and its snapshot is the same",
        _replays,
        _replay,
    ),
    Target(
        "variants",
        "VARIANT values of a stranger's lake",
        "a value that comes back, or an error",
        _variants,
        _variant,
    ),
)
