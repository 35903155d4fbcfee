"""Directories that our engine writes, before each release of Kafka: its dump tool, its metadata
shell, and a real controller that takes over, runs, and gives the directory back to us."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from replica.errors import UsageError
from replica.metadata.image.image import Image, differences
from replica.node.formatting import format_node
from replica.node.settings import NodeSettings
from replica.raft.inputs import Proposal, Request
from replica.raft.messages import UpdateFeaturesRequest
from replica.storage.batches import batches_of
from replica.storage.directory_lock import DirectoryLock
from replica.storage.filesystem import LocalDisk
from tests.interop.engine import running, settings_of
from tests.interop.kafka_dump import dumped, kafka_dump, unexpected
from tests.interop.kafka_jars import numbers
from tests.interop.kafka_node import Controller, free_ports, run_tool
from tests.interop.matrix import hold
from tests.kraftlake_process import kraftlake

pytestmark = pytest.mark.slow

CLUSTER_ID = "Lr3UIdBxT-GFPYE5uprmrg"
RECORDED = {
    "3.9.2": "kafka-3.7.2-static/final/1",
    "4.1.2": "kafka-4.1.1-dynamic/final/12",
    "4.3.1": "kafka-4.1.1-dynamic/final/12",
    "4.4.0": "kafka-4.4.0-dynamic/final/3",
}
"""By the release that is to read it, a log whose records it knows, from the first on."""
SEGMENT_BYTES = 100_000
NOTHING_OF_OURS = (
    "Overriding internal.metadata.log.segment.bytes is only supported for testing",
    "Performing controller activation",
    "Attempting to close NetworkClient that has already been closed",
    "Unexpected error handling request RequestHeader(apiKey=CONTROLLER_REGISTRATION",
)
"""What a controller warns of whatever its directory holds; the last is a request of its own that
came before it was active, and comes again."""


@dataclass(frozen=True)
class Written:
    """A closed directory with metadata records in three segments and a snapshot."""

    controller: Controller
    settings: NodeSettings
    image: Image

    @property
    def partition(self) -> Path:
        return self.controller.partition

    def files(self, *patterns: str) -> list[Path]:
        return sorted(path for pattern in patterns for path in self.partition.glob(pattern))

    def segments(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in self.files("*.log")}


@pytest.fixture(params=["static", "upgraded", "dynamic"])
def written(
    request: pytest.FixtureRequest, data: Path, tmp_path: Path, kafka_version: str
) -> Written:
    """By a static voter, one that upgraded to kraft.version 1, and one that began with it."""
    is_static = request.param != "dynamic"
    (port,) = free_ports(1)
    controller = made(tmp_path, port, kafka_version, is_static=is_static)
    settings = settings_of(controller)
    format_node(LocalDisk(), settings, CLUSTER_ID, standalone=not is_static)
    proposals = recorded_proposals(data, kafka_version)
    half = len(proposals) // 2
    with running(settings) as engine:
        if request.param == "upgraded":
            engine.step(Request("upgrade", UpdateFeaturesRequest(kraft_version=1)))
            assert engine.host.raft.log.kraft_version == 1
        engine.propose(proposals[:half])
        engine.snapshot()
        engine.propose(proposals[half:])
    if request.param == "upgraded":
        controller = made(tmp_path, port, kafka_version, is_static=False)
    return Written(controller, settings_of(controller), engine.machine.image)


def made(folder: Path, port: int, version: str, *, is_static: bool) -> Controller:
    settings = {"internal.metadata.log.segment.bytes": SEGMENT_BYTES}
    return Controller(folder, 1, {1: port}, is_static=is_static, settings=settings, version=version)


def recorded_proposals(data: Path, version: str) -> list[Proposal]:
    """The metadata that a real cluster wrote, without what concerned its own quorum."""
    return [
        Proposal(batch.end_offset - batch.base_offset, batch.data)
        for path in sorted((data / RECORDED[version]).glob("__cluster_metadata-0/*.log"))
        for batch in batches_of(path.read_bytes(), int(path.stem))
        if not batch.control
    ]


def test_kafka_dump_log_reads_what_our_dump_reads(written: Written) -> None:
    records = written.files("*.log", "*.checkpoint")
    indexes = written.files("*.index", "*.timeindex")
    assert len(records) >= 3
    ran = kafka_dump(
        [*records, *indexes],
        "--cluster-metadata-decoder",
        "--print-data-log",
        "--index-sanity-check",
        version=written.controller.version,
    )
    assert (ran.returncode, unexpected(ran)) == (0, "")
    assert ran.stdout.count("Dumping ") == len(records) + len(indexes)
    for complaint in ("isvalid: false", "mismatch", "Exception", "secutive", "out of order"):
        assert complaint not in ran.stdout
    ours = kraftlake("dump", "--json", "--keep-secrets", *records)
    assert (ours.returncode, ours.stderr) == (0, "")
    rows = [json.loads(line) for line in ours.stdout.splitlines()]
    theirs = list(dumped(ran.stdout))
    assert len(theirs) > 2000
    assert len(theirs) == len(rows)
    for row, (offset, time, content) in zip(rows, theirs, strict=True):
        assert (row["offset"], row["timestamp"]) == (offset, time)
        assert content in (row["data"], None)
    has_leaders = numbers(written.controller.version) >= (4, 0)
    assert [content for *_, content in theirs].count(None) == (0 if has_leaders else 1)


def test_our_doctor_finds_nothing(written: Written) -> None:
    ran = kraftlake("check", "--json", "--family", "files", written.settings.log_dir)
    assert (ran.returncode, ran.stderr) == (0, "")
    (told,) = json.loads(ran.stdout)["summary"]["directories"]
    assert told["verdict"] == "ok"


def test_the_metadata_shell_opens_our_snapshot(written: Written) -> None:
    (snapshot,) = [path for path in written.files("*.checkpoint") if int(path.name[:20]) > 0]
    held = {row["data"]["name"] for row in rows_of(snapshot, "TOPIC_RECORD")}
    version = written.controller.version
    assert len(held) > 20
    assert set(shown(version, snapshot, "ls", "/image/topics/byName").split()) == held
    broker = shown(version, snapshot, "cat", "/image/cluster/brokers/11")
    assert broker.startswith("BrokerRegistration(id=11, ")


def shown(version: str, snapshot: Path, *command: str) -> str:
    """What a command prints. The shell may run it before it has loaded the file, and then shows
    an empty image, of Kafka's own snapshots too: it is asked again."""
    for _ in range(30):
        shell = ("org.apache.kafka.shell.MetadataShell", "--snapshot", snapshot)
        ran = run_tool(*shell, *command, version=version)
        assert ran.returncode == 0
        # it says that of every control record, of Kafka's own too
        known = "Ignoring control record with type"
        assert [line for line in ran.stderr.splitlines() if known not in line] == []
        if ran.stdout.strip() and "No such file" not in ran.stdout:
            return ran.stdout
    raise AssertionError("an empty image 30 times")


def rows_of(path: Path, record_type: str) -> list[dict[str, Any]]:
    ran = kraftlake("dump", "--json", "--type", record_type, path)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_a_real_controller_takes_over_and_gives_back(written: Written) -> None:
    before = written.segments()
    with written.controller as kafka:
        kafka.wait_for("Kafka Server started")
        kafka.wait_for("Our registration has been persisted")
        with pytest.raises(UsageError, match="another process runs a Kafka or kraftlake node"):
            DirectoryLock(written.settings.log_dir)
        kafka.stop()
        assert complaints(kafka.log) == []

    after = written.segments()
    assert after.keys() >= before.keys()
    for name, content in before.items():
        assert after[name].startswith(content), name
    assert sum(map(len, after.values())) > sum(map(len, before.values()))
    assert kraftlake("check", written.settings.log_dir).returncode == 0

    with running(written.settings) as engine:
        host = engine.host
        assert host.log.repairs == []
        assert [entry.epoch for entry in host.raft.log.epochs] == [1, 2, 3]
        assert host.raft.high_watermark == host.raft.log.log_end
        changed = {row.kind: row for row in differences(written.image, engine.machine.image)}
        assert f'"port":{written.controller.port}' in str(changed["controller"].value_b)
        # brokers that don't come back are fenced, and lead no partition then
        assert changed.keys() <= {"controller", "broker", "partition"}
        engine.snapshot()
    assert kraftlake("check", written.settings.log_dir).returncode == 0
    hold(written.controller.version, "handed", "static, upgraded, dynamic")


def complaints(log: str) -> list[str]:
    return [
        line
        for line in log.splitlines()
        if re.search(r"\b(WARN|ERROR|FATAL)\b", line)
        and not any(known in line for known in NOTHING_OF_OURS)
    ]


def test_kafka_does_not_start_where_our_engine_runs(
    data: Path, tmp_path: Path, kafka_version: str
) -> None:
    controller = made(tmp_path, free_ports(1)[0], kafka_version, is_static=True)
    format_node(LocalDisk(), settings_of(controller), CLUSTER_ID)
    with running(settings_of(controller)) as engine:
        controller.start()
        assert controller.wait_for_end() == 1
        assert "Failed to acquire lock on file .lock" in controller.log
        engine.propose(recorded_proposals(data, kafka_version)[:1])
    with controller:
        controller.wait_for("Kafka Server started")
