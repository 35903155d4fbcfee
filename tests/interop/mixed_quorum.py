"""Quorums of kraftlake voters and kafka.tools.TestRaftServer, all as processes on 127.0.0.1.

Each leader appends a load of its own. The nodes tell what is committed: the high watermark in the
answer to a fetch.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType

from replica.errors import KraftlakeError
from replica.format.quorum_state import decode
from replica.format.segment import scan
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.storage.filesystem import LocalDisk
from replica.wire.apis.fetching import FETCH
from replica.wire.client import ClientConfig, Connection
from tests.interop.class_archive import make_archive
from tests.interop.kafka_jars import NEWEST
from tests.interop.kafka_node import free_ports, java_command
from tests.kraftlake_process import Process, logged, started

TOPIC, TOPIC_ID = "__raft_performance_test", "AAAAAAAAAAAAAAAAAAAAAg"
"""The topic of TestRaftServer; its cluster id is the zero UUID."""
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
RATE, BYTES = 100, 100
WITHIN_S = 120.0
"""The most seconds for any expected event. It isn't what a test measures, and
machines can be busy."""
_BLOCK_BYTES = 16 * 1024 * 1024
OURS, KAFKAS = "kraftlake", "kafka"
_SERVER = "kafka.tools.TestRaftServer"
_HEAP = "2g"
"""The heap of a TestRaftServer: its reader keeps a buffer for each size of batch that it has seen.
Kafka 4.4.0's writes 5,000 records of 256 bytes per second by default."""


@dataclass
class Voter:
    """A voter that is or was a process. kind: OURS or KAFKAS. version: Kafka's. workload: the
    records per second of our voters, and the bytes of each, where that is measured; tests need only
    little."""

    node_id: int
    kind: str
    folder: Path
    port: int
    version: str
    workload: tuple[int, int] | None = None
    process: Process | None = None

    @property
    def partition(self) -> Path:
        return self.folder / "log" / f"{TOPIC}-0"

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"

    def log(self, start: int = 0, end: int | None = None) -> bytes:
        """The bytes of all segments, one after the other, from byte `start` to byte `end`."""
        found = b""
        for path in sorted(self.partition.glob("*.log")):
            with path.open("rb") as segment:
                size = segment.seek(0, os.SEEK_END)
                segment.seek(min(start, size))
                found += segment.read(-1 if end is None else max(0, min(end, size) - start))
            start, end = max(0, start - size), None if end is None else max(0, end - size)
        return found

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(path.stat().st_size for path in self.partition.glob("*.log"))

    @property
    def election(self) -> tuple[int, int]:
        """(epoch, leader id) on the voter's disk."""
        try:
            state = decode((self.partition / "quorum-state").read_bytes())
        except (OSError, KraftlakeError):
            return (-1, -1)
        return state.leader_epoch, state.leader_id

    def start(self) -> None:
        output = self.folder / "output.txt"
        if self.kind == OURS:
            rate, size = self.workload or (RATE, BYTES)
            load = ("--workload", f"{rate},{size}")
            self.process = started(output, "replica", "run", "-c", self.properties, *load)
        else:
            self.process = logged(output, self._command_of_kafka())

    def kill(self) -> None:
        """Sends SIGKILL."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> int:
        """Stops the voter in order. Gives the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WITHIN_S)
        self.process = None
        return code

    def _command_of_kafka(self) -> list[str]:
        options = map(str, server_options(self.node_id, self.properties, self.workload))
        quick = self.workload is None
        return java_command("error", _SERVER, options, self.version, _HEAP, is_short_lived=quick)


@dataclass
class MixedQuorum:
    """Voters 1 to 3, of which the first `kraftlake` are ours; started on entry, killed on exit.

    The kind with only one voter notices a lost leader earlier than the others, because it would
    hardly ever lead otherwise. properties: more properties of all voters. client: the settings of
    the test's connections to them.
    """

    folder: Path
    kraftlake: int
    version: str = NEWEST
    workload: tuple[int, int] | None = None
    fetch_timeout_ms: int | None = None
    properties: Mapping[str, object] = field(default_factory=dict)
    client: ClientConfig = field(default_factory=lambda: ClientConfig(timeout_s=2.0))
    voters: dict[int, Voter] = field(default_factory=dict)
    _ends: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    _alike: set[tuple[int, int, int]] = field(default_factory=set)

    def __enter__(self) -> MixedQuorum:
        ports = dict(zip((1, 2, 3), free_ports(3), strict=True))
        for node_id, port in ports.items():
            kind = OURS if node_id <= self.kraftlake else KAFKAS
            voter = Voter(
                node_id, kind, self.folder / str(node_id), port, self.version, self.workload
            )
            others = self.kraftlake if kind == KAFKAS else 3 - self.kraftlake
            fetch_timeout_ms = self.fetch_timeout_ms or (2000 if others == 1 else 1000)
            configure(voter, ports, fetch_timeout_ms, self.properties)
            self.voters[node_id] = voter
        if self.kraftlake < len(self.voters):
            _archive_classes(self.folder / "training", self.version)
        try:
            for voter in self.voters.values():
                voter.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for voter in self.voters.values():
            voter.kill()

    @property
    def running(self) -> list[Voter]:
        return [voter for voter in self.voters.values() if voter.process is not None]

    def leader(self, above_epoch: int = 0) -> Voter:
        """The leader of the newest epoch, by a majority of the disks. Waits for a leader of an
        epoch above the given one."""
        found: list[Voter] = []

        def is_elected() -> bool:
            epoch, leader = max(voter.election for voter in self.voters.values())
            same = [v for v in self.running if v.election == (epoch, leader)]
            found[:] = [v for v in same if v.node_id == leader]
            return epoch > above_epoch and len(same) >= 2 and len(found) == 1

        self.wait_until(is_elected, f"no leader above epoch {above_epoch}")
        return found[0]

    def committed(self) -> int:
        """The high watermark (exclusive) in the leader's answer; -1 while none is known."""
        epoch, leader = max((voter.election for voter in self.running), default=(-1, -1))
        leading = (voter for voter in self.running if voter.node_id == leader)
        return max(
            (asyncio.run(_high_watermark(v.port, epoch, self.client)) for v in leading), default=-1
        )

    def wait_for_commits(self, above: int) -> int:
        """Waits until a record above an offset is committed. Gives the high watermark then."""
        known: list[int] = []

        def has_moved() -> bool:
            known[:] = [self.committed()]
            return known[0] > above

        self.wait_until(has_moved, f"nothing above {above} is committed")
        return known[0]

    def holding(self, end_offset: int, start: int = 0) -> tuple[int, int]:
        """(the number of voters that hold the same as the leader from byte `start` up to a
        committed offset, the byte at which that ends). A voter that died may have an old tail
        there. Each voter is read once."""
        leader = self.voters.get(max(voter.election for voter in self.voters.values())[1])
        if end_offset not in self._ends and leader is not None:
            found = part(leader.log(start), end_offset)
            if found is not None:
                self._ends[end_offset] = start + len(found), sha256(found).digest()
        if end_offset not in self._ends:
            return 0, start
        end, digest = self._ends[end_offset]
        for voter in self.voters.values():
            asked = (voter.node_id, start, end)
            is_news = asked not in self._alike and voter.size >= end
            if is_news and sha256(voter.log(start, end)).digest() == digest:
                self._alike.add(asked)
        return sum((node_id, start, end) in self._alike for node_id in self.voters), end

    def digests(self, end: int) -> set[bytes]:
        """The digests of the first `end` bytes of each log."""
        found = set()
        for voter in self.voters.values():
            digest = sha256()
            for start in range(0, end, _BLOCK_BYTES):
                digest.update(voter.log(start, min(end, start + _BLOCK_BYTES)))
            found.add(digest.digest())
        return found

    def wait_until(self, is_so: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + WITHIN_S
        while not is_so():
            assert time.monotonic() < deadline, f"{otherwise}\n{self.outputs()}"
            for voter in self.running:
                assert voter.process is not None
                assert voter.process.poll() is None, f"{voter.node_id} ended\n{self.outputs()}"
            time.sleep(0.05)

    def outputs(self) -> str:
        """The end of each voter's output."""
        texts = []
        for voter in self.voters.values():
            said = (voter.folder / "output.txt").read_text(errors="replace")[-1500:]
            texts.append(f"--- {voter.kind} {voter.node_id}, {voter.election}\n{said}")
        return "\n".join(texts)


def part(data: bytes, end_offset: int) -> bytes | None:
    """The batches below an offset; None where no batch ends there."""
    batches = scan(data).batches
    last = next((b for b in batches if b.header.next_offset == end_offset), None)
    return None if last is None else data[: last.position + last.header.size_bytes]


def server_options(
    node_id: int, properties: Path, workload: tuple[int, int] | None = None
) -> tuple[object, ...]:
    """The server's options. workload: records per second, and bytes of each; None for the server's
    own."""
    load: tuple[object, ...] = ()
    if workload is not None:
        load = ("--throughput", workload[0], "--record-size", workload[1])
    directory_id = f"{'kafka' * 4}{node_id}A"
    return ("--config", properties, "--replica-directory-id", directory_id, *load)


def configure(
    voter: Voter,
    ports: dict[int, int],
    fetch_timeout_ms: int,
    properties: Mapping[str, object] = MappingProxyType({}),
) -> None:
    """Makes the voter's folder. ports: of the voters, by their ids; another node is an observer."""
    named = ",".join(f"{node_id}@127.0.0.1:{port}" for node_id, port in ports.items())
    lines = {
        "process.roles": "controller",
        "node.id": voter.node_id,
        "log.dirs": voter.folder / "log",
        "listeners": f"CONTROLLER://127.0.0.1:{voter.port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": named,
        "controller.quorum.fetch.timeout.ms": fetch_timeout_ms,
        "controller.quorum.election.timeout.ms": 500,
        "controller.quorum.election.backoff.max.ms": 500,
        "kraftlake.topic.name": TOPIC,
        "kraftlake.topic.id": TOPIC_ID,
        "kraftlake.principals.administrator": "*",
        **properties,
    }
    (voter.folder / "log").mkdir(parents=True)
    voter.properties.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    if voter.kind == OURS:
        settings = settings_in(read_properties(os.fspath(voter.properties)))
        format_node(LocalDisk(), settings, CLUSTER_ID)


def _archive_classes(folder: Path, version: str) -> None:
    """Makes an archive from a run of a single TestRaftServer. It loads the classes that a
    TestRaftServer in a quorum loads, except those for connections to other nodes."""
    (port,) = free_ports(1)
    lone = Voter(1, KAFKAS, folder, port, version)
    configure(lone, {1: port}, 2000)
    options = server_options(1, lone.properties)
    make_archive(version, _SERVER, *options, until=lone.partition / "quorum-state")


async def _high_watermark(port: int, epoch: int, client: ClientConfig) -> int:
    """The high watermark that an observer without an id gets from the leader of an epoch; -1 where
    the node doesn't answer, doesn't lead, or doesn't know it. TestRaftServer serves no consumers.
    """
    about = {"currentLeaderEpoch": epoch, "lastFetchedEpoch": 0}
    asked = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1, **about}
    request = {
        "clusterId": CLUSTER_ID,
        "replicaId": -1,
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": 1,
        "topics": [{"topic": TOPIC, "topicId": TOPIC_ID, "partitions": [asked]}],
    }
    try:
        connection = await Connection.connect("127.0.0.1", port, client)
        try:
            answer = await connection.call(FETCH, request)
        finally:
            await connection.close()
    except KraftlakeError:
        return -1
    topics = answer.message["responses"]
    return max(
        (each["highWatermark"] for topic in topics for each in topic["partitions"]), default=-1
    )
