"""A real Kafka controller and a kraftlake voter in one quorum over TLS, and over SASL: each
takes the other for who it is, and nothing is committed without both."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path

import pytest

from replica.errors import KraftlakeError
from replica.format.segment import scan
from replica.model.keys import METADATA_TOPIC, METADATA_TOPIC_ID
from replica.node.security.scram_file import line_for
from replica.wire.apis.fetching import FETCH
from replica.wire.client import ClientConfig, Connection
from tests.interop.kafka_jars import class_path_or_skip
from tests.interop.kafka_node import Controller, free_ports, run_tool
from tests.kraftlake_process import kraftlake, started
from tests.replica.node.security.files import PLAIN
from tests.replica.node.security.quorum import (
    SASL_SSL,
    client_file,
    config_of,
    make_certificates,
    running,
    with_password,
)
from tests.replica.wire.certificates import make_authority, make_certificate

pytestmark = pytest.mark.slow

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
WITHIN_S = 120
KAFKA, OURS = 1, 2


def mtls(folder: Path, node_id: int) -> dict[str, str]:
    """Keys that both read."""
    return {
        "listener.security.protocol.map": "CONTROLLER:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": f"{folder}/node{node_id}.both.pem",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": f"{folder}/ca.pem",
        "ssl.client.auth": "required",
    }


def plain(folder: Path, node_id: int) -> dict[str, str]:
    return {
        "listener.security.protocol.map": "CONTROLLER:SASL_PLAINTEXT",
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": f"{PLAIN} required "
        f'username="node{node_id}" password="of-{node_id}" '
        'user_node1="of-1" user_node2="of-2" user_reader="of-reader";',
    }


CLIENTS = {
    "mtls": "security.protocol=SSL\nssl.keystore.type=PEM\n"
    "ssl.keystore.location={folder}/reader.both.pem\n"
    "ssl.truststore.type=PEM\nssl.truststore.location={folder}/ca.pem\n",
    "plain": "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
    f'sasl.jaas.config={PLAIN} required username="reader" password="of-reader";\n',
}
PRINCIPALS = {
    "mtls": ("CN=node1,O=kraftlake", "CN=reader,O=kraftlake"),
    "plain": ("node1", "reader"),
}


def our_properties(folder: Path, ports: dict[int, int], kind: str) -> Path:
    """A voter that lets Kafka lead."""
    voter, reader = PRINCIPALS[kind]
    security = (mtls if kind == "mtls" else plain)(folder, OURS)
    lines = {
        "process.roles": "controller",
        "node.id": OURS,
        "log.dirs": folder / "ours",
        "listeners": f"CONTROLLER://127.0.0.1:{ports[OURS]}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{p}" for n, p in ports.items()),
        "controller.quorum.election.timeout.ms": 60_000,
        "controller.quorum.fetch.timeout.ms": 20_000,
        "kraftlake.principals.voter": voter,
        "kraftlake.principals.observer": "nobody",
        "kraftlake.principals.reader": reader,
        **security,
    }
    path = folder / "ours.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    path.chmod(0o600)
    return path


def log_of(partition: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(partition.glob("*.log")))


def below(data: bytes, end: int) -> bytes:
    found = [b for b in scan(data).batches if b.header.next_offset <= end]
    return data[: found[-1].position + found[-1].header.size_bytes]


@pytest.mark.parametrize("kind", ["mtls", "plain"])
def test_a_kraftlake_voter_and_kafka_commit_together(tmp_path: Path, kind: str) -> None:
    class_path_or_skip()
    make_authority(tmp_path, "ca")
    for name in ("node1", "node2", "reader"):
        make_certificate(tmp_path, name, f"/O=kraftlake/CN={name}")
    ports = dict(zip((KAFKA, OURS), free_ports(2), strict=True))
    security = (mtls if kind == "mtls" else plain)(tmp_path, KAFKA)
    kafka = Controller(tmp_path / "kafka", KAFKA, ports, is_static=True, settings=security)
    kafka.format(CLUSTER_ID)
    ours = our_properties(tmp_path, ports, kind)
    made = kraftlake("replica", "format", "-c", ours, "-t", CLUSTER_ID)
    assert made.returncode == 0, made.stderr
    said = tmp_path / "ours.txt"
    process = started(said, "replica", "run", "-c", ours)
    try:
        with kafka:
            client = client_file(tmp_path, kind, CLIENTS[kind].format(folder=tmp_path))
            end = committed(ports[OURS], client, said, kafka)
            here = below(log_of(tmp_path / "ours" / "__cluster_metadata-0"), end)
            assert here == below(log_of(kafka.partition), end)
            assert any(not b.header.is_control for b in scan(here).batches)
        assert "Traceback" not in said.read_text()
    finally:
        process.kill()
        process.wait()


def test_kafkas_quorum_tool_takes_the_same_clients_file_as_our_commands(tmp_path: Path) -> None:
    class_path_or_skip()
    make_certificates(tmp_path)
    (tmp_path / "scram").write_text(line_for("reader", "SCRAM-SHA-512", "of-reader", 4096))
    with running(tmp_path, SASL_SSL, topic="") as quorum:
        for password, code in (("of-reader", 0), ("wrong", 1)):
            client = with_password(tmp_path, "reader", password, "SCRAM-SHA-512")
            ran = quorum_tool(quorum.bootstrap, client, code)
            assert ("CurrentVoters:" in ran.stdout) == (code == 0)
            assert ("SaslAuthenticationException" in ran.stdout + ran.stderr) == (code == 1)


def quorum_tool(bootstrap: str, client: Path, code: int) -> subprocess.CompletedProcess[str]:
    """Once it ends so: a quorum without a leader yet is an error too."""
    tool = "org.apache.kafka.tools.MetadataQuorumCommand"
    how = ("--bootstrap-controller", bootstrap, "--command-config", client, "describe", "--status")
    deadline = time.monotonic() + WITHIN_S
    while True:
        ran = run_tool(tool, *how)
        if ran.returncode == code:
            return ran
        assert time.monotonic() < deadline, ran.stdout + ran.stderr


def committed(port: int, client: Path, said: Path, kafka: Controller) -> int:
    """The high watermark that our voter tells readers, once that is past what Kafka's controller
    writes when it becomes active."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            found = asyncio.run(high_watermark(port, config_of(client)))
        except KraftlakeError as error:
            found, why = -1, str(error)
        else:
            why = f"high watermark {found}"
        if found > 10:
            return found
        text = f"{why}\n{said.read_text()}\n{kafka.log[-3000:]}"
        assert time.monotonic() < deadline, text
        time.sleep(0.5)


async def high_watermark(port: int, config: ClientConfig) -> int:
    asked = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1}
    topic = {"topic": METADATA_TOPIC, "topicId": METADATA_TOPIC_ID, "partitions": [asked]}
    connection = await Connection.connect("127.0.0.1", port, config)
    try:
        limits = {"replicaId": -1, "maxWaitMs": 0, "minBytes": 0, "maxBytes": 1}
        answer = await connection.call(FETCH, {**limits, "topics": [topic]})
    finally:
        await connection.close()
    return int(answer.message["responses"][0]["partitions"][0]["highWatermark"])
