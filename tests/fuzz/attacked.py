"""The replicas under attack: a leader with a load of its own and an observer that follows it, each
a `kraftlake replica run`, and what may be seen of them from outside."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from replica.errors import PeerError
from replica.format.batch import HEADER
from replica.format.record import records_of
from replica.format.segment import scan
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.storage.filesystem import LocalDisk
from replica.wire.apis.fetching import FETCH
from replica.wire.client import ClientConfig, Connection
from tests.interop.kafka_node import free_ports

HOST = "127.0.0.1"
TOPIC, TOPIC_ID = "orders", "AAAAAAAAAAAAAAAAAAAAAg"
CLUSTER_ID = "kraftlake-fuzz-cluster"
WITHIN_S = 60.0
"""For each answer to a client that behaves well."""
LEADER, OBSERVER = 1, 2
_ROOT = Path(__file__).parents[2]
_FAULTS = ("Traceback", "Exception", "never retrieved", "Error:")
"""In what a replica says: signs of something that nobody has foreseen."""


@dataclass
class Attacked:
    """One replica."""

    node_id: int
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def partition(self) -> Path:
        return self.folder / "log" / f"{TOPIC}-0"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def election(self) -> bytes:
        """quorum-state, byte for byte."""
        return (self.partition / "quorum-state").read_bytes()

    @property
    def log(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted(self.partition.glob("*.log")))

    @property
    def said(self) -> str:
        return (self.folder / "output.txt").read_text(errors="replace")

    @property
    def resident_kib(self) -> int:
        ran = subprocess.run(["ps", "-o", "rss=", "-p", str(self.pid)], capture_output=True)
        return int(ran.stdout)

    def start(self, *options: str) -> None:
        command = ["replica", "run", "-c", str(self.folder / "server.properties"), *options]
        with (self.folder / "output.txt").open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jobs.cli", *command],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=_ROOT,
            )

    def stop(self) -> int:
        """In order; the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WITHIN_S)

    def assert_sound(self) -> None:
        """It runs, and nothing has happened that its authors had not thought of."""
        assert self.process is not None
        assert self.process.poll() is None, f"node {self.node_id} ended:\n{self.said[-5000:]}"
        said = self.said
        assert not any(fault in said for fault in _FAULTS), f"{self.node_id}: {said[-5000:]}"


@dataclass
class Pair:
    """The only voter and an observer, started on entry and killed on exit. Everybody may read,
    replicate and administer; nobody may vote."""

    folder: Path
    load: str = "50,100"
    replicas: dict[int, Attacked] = field(default_factory=dict)

    @property
    def leader(self) -> Attacked:
        return self.replicas[LEADER]

    @property
    def observer(self) -> Attacked:
        return self.replicas[OBSERVER]

    def __enter__(self) -> Pair:
        ports = dict(zip((LEADER, OBSERVER), free_ports(2), strict=True))
        for node_id, port in ports.items():
            replica = Attacked(node_id, self.folder / str(node_id), port)
            replica.folder.mkdir()
            _format(replica, ports[LEADER])
            self.replicas[node_id] = replica
        try:
            self.leader.start("--workload", self.load)
            self.observer.start()
            self._wait(lambda: b'"leaderId":1' in self.leader.election, "no leader")
            self._wait(lambda: len(self.observer.log) > 0, "the observer follows nobody")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for replica in self.replicas.values():
            if replica.process is not None:
                replica.process.kill()
                replica.process.wait()

    def _wait(self, is_so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not _tried(is_so):
            for replica in self.replicas.values():
                replica.assert_sound()
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.05)


def _tried(is_so: Callable[[], bool]) -> bool:
    try:
        return is_so()
    except OSError:
        return False


def _format(replica: Attacked, leader_port: int) -> None:
    lines = {
        "process.roles": "controller",
        "node.id": replica.node_id,
        "log.dirs": replica.folder / "log",
        "listeners": f"CONTROLLER://{HOST}:{replica.port}",
        "controller.quorum.bootstrap.servers": f"{HOST}:{leader_port}",
        "kraftlake.topic.name": TOPIC,
        "kraftlake.topic.id": TOPIC_ID,
        "kraftlake.principals.voter": "User:nobody",
        "kraftlake.principals.administrator": "*",
    }
    path = replica.folder / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    settings = settings_in(read_properties(os.fspath(path)))
    format_node(LocalDisk(), settings, CLUSTER_ID, standalone=replica.node_id == LEADER)


async def watermark(port: int) -> int:
    """The high watermark that a client which behaves well is told. It may have to try again, as
    where a crowd has all connections; raises where it isn't served in time."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        try:
            return await _watermark(port)
        except PeerError:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.05)


async def _watermark(port: int) -> int:
    connection = await Connection.connect(HOST, port, ClientConfig(timeout_s=WITHIN_S))
    try:
        asked = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1000}
        topics = [{"topic": TOPIC, "topicId": TOPIC_ID, "partitions": [asked]}]
        request = {"replicaId": -1, "maxWaitMs": 0, "minBytes": 0, "maxBytes": 1000}
        answer = await connection.call(FETCH, {**request, "topics": topics})
    finally:
        await connection.close()
    ((found,),) = (topic["partitions"] for topic in answer.message["responses"])
    assert found["errorCode"] == 0, f"a reader gets error {found['errorCode']}"
    assert found["records"], "a reader gets no records"
    return int(found["highWatermark"])


def foreign_batches(log: bytes) -> dict[int, bytes]:
    """Base offset -> record bytes of each batch that isn't of the leader's own load.

    Every batch must be sound: its CRC, its place, its epoch, its records; no producer, and control
    batches at the begin only.
    """
    found: dict[int, bytes] = {}
    result = scan(log, expected_offset=0)
    assert not result.damages, f"a damaged log: {result.damages[:3]}"
    own, following, has_data = b"", 0, False
    for batch in result.batches:
        header = batch.header
        assert batch.crc_valid
        assert header.base_offset == following, f"a hole before {header.base_offset}"
        assert header.leader_epoch == result.batches[0].header.leader_epoch
        assert not (header.is_control and has_data), f"control records at {following}"
        following = header.next_offset
        if header.is_control:
            continue
        data = log[batch.position : batch.position + header.size_bytes]
        values = [record.value for record in records_of(header, data)]
        assert len(values) == header.last_offset_delta + 1
        assert header.producer_id == -1
        has_data, own = True, own or (values[0] or b"")  # the load begins with the leader
        if set(values) != {own}:
            found[header.base_offset] = data[HEADER.size :]
    return found
