"""The changes of tests.bench.changes as requests to the leader of three voters, ours or Kafka's.

A request's time is that from its sending to its answer. As many connections send them as the
cluster has brokers. A request counts as one with a snapshot if the leader's folder had a
.checkpoint.part file, in which a snapshot is written, in the time from MARGIN_S before the request
until MARGIN_S after its answer.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from replica.errors import PeerError
from replica.metadata.changes.releases import NEWEST_LEVELS
from replica.metadata.codec import encode
from replica.model.kafka_errors import ErrorCode, error_name
from replica.wire.client import ClientConfig, Connection
from replica.wire.describe_quorum import query_quorum
from tests.bench.change_requests import (
    BROKERS,
    TOPIC,
    Request,
    altered_partitions,
    epoch_of,
    produces,
)
from tests.bench.kafka import KafkaServer
from tests.bench.partition_changes import AT_ONCE, Commit, told
from tests.bench.quorum_of_one import write_properties
from tests.bench.start import fill
from tests.interop.kafka_jars import NEWEST
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import started
from tests.replica.metadata.image.made import broker, feature

LINGER = "controller.quorum.append.linger.ms"
MARGIN_S = 0.1
FOREVER = float("inf")
_CONFIG = ClientConfig(max_in_flight=1000)
_LOOK_S, _PAUSE_S, _STARTED_S = 0.01, 0.1, 300.0


@dataclass(frozen=True)
class Voter:
    """A voter. folder: the folder of its log."""

    port: int
    folder: Path


def measured(folder: Path, options: argparse.Namespace) -> Iterator[str]:
    """A line about kraftlake's voters, and two lines about Kafka's: one with Kafka's usual linger
    of 25 ms, one without a linger."""
    with ours(folder / "ours", options) as voters:
        load = Load(voters, produces(options.partitions), options)
        yield asyncio.run(load.told("kraftlake by requests"))
    for linger_ms in (25, 0):
        with kafkas(folder / f"kafka-{linger_ms}", options, {LINGER: linger_ms}) as voters:
            load = Load(voters, altered_partitions(options.partitions), options)
            yield asyncio.run(load.told(f"Kafka {NEWEST} by requests, {LINGER}={linger_ms}"))


def prepared(folder: Path, options: argparse.Namespace) -> dict[int, Path]:
    """Prepares three voters of kraftlake, whose logs have the partitions. Gives the paths of their
    server.properties, by port."""
    ports = dict(enumerate(free_ports(3), 1))
    voters = ",".join(f"{node_id}@127.0.0.1:{port}" for node_id, port in ports.items())
    paths = {}
    for node_id, port in ports.items():
        more = {
            "node.id": node_id,
            "controller.quorum.voters": voters,
            "kraftlake.principals.administrator": "*",
            **snapshots(options.every),
        }
        paths[port] = write_properties(folder / str(node_id), port, more)
        fill(paths[port], 0, options.partitions)
    return paths


@contextmanager
def ours(folder: Path, options: argparse.Namespace) -> Iterator[list[Voter]]:
    """Runs the voters of kraftlake by the command with which users start them."""
    paths = prepared(folder, options)
    processes = [
        started(path.parent / "output.txt", "replica", "run", "-c", path) for path in paths.values()
    ]
    try:
        yield [Voter(port, path.parent / f"log/{TOPIC}-0") for port, path in paths.items()]
    finally:
        for process in processes:
            process.kill()  # in order, it would end once its snapshot is written
            process.wait()


@contextmanager
def kafkas(
    folder: Path, options: argparse.Namespace, more: Mapping[str, object] = MappingProxyType({})
) -> Iterator[list[Voter]]:
    """Runs three controllers of Kafka. Their log begins with metadata.version and with brokers,
    which stay unfenced without a heartbeat. more: further settings."""
    ports = dict(enumerate(free_ports(3), 1))
    settings = {"broker.session.timeout.ms": 3_600_000, **snapshots(options.every), **more}
    first = [feature("metadata.version", NEWEST_LEVELS[NEWEST.rpartition(".")[0]])]
    first += [broker(number, epoch_of(number), fenced=False) for number in range(BROKERS)]
    with ExitStack() as stack:
        nodes = [
            KafkaServer(folder / str(i), i, ports, is_static=True, settings=settings) for i in ports
        ]
        for node in nodes:
            fill(node.properties, 0, options.partitions, map(encode, first))
        for node in nodes:
            stack.enter_context(node)
        yield [Voter(node.port, node.partition) for node in nodes]


def snapshots(every_s: float) -> dict[str, object]:
    """The settings by which a voter writes a snapshot every `every_s` seconds."""
    return {
        "metadata.log.max.snapshot.interval.ms": int(every_s * 1000),
        "metadata.log.max.record.bytes.between.snapshots": 2**40,
    }


class Load:
    """Sends the changes to the leader, whichever node leads. It counts them for options.seconds
    seconds. These begin after the first commit and some time to warm up."""

    def __init__(
        self, voters: list[Voter], made: Iterator[Request], options: argparse.Namespace
    ) -> None:
        self._voters, self._made, self._options = voters, made, options
        self._leader: Voter | None = None
        self._epoch = 0
        self._connections: list[Connection] = []
        self._from = FOREVER  # when it is warm
        self._answered: list[tuple[float, float, int]] = []  # from, until, epoch
        self._written: list[tuple[float, float]] = []  # from, until
        self._failed: Counter[str] = Counter()

    async def told(self, name: str) -> str:
        looking = asyncio.create_task(self._look())
        try:
            await self._run()
        finally:
            looking.cancel()
            await self._disconnect()
        commits = [
            Commit((until - begin) * 1000, self._has_snapshot(begin, until), epoch)
            for begin, until, epoch in self._answered
        ]
        seconds = ", ".join(f"{end - w:.1f}" for w, end in self._written if end > self._from)
        failed = ", ".join(f"{count} {why}" for why, count in self._failed.items()) or "none"
        return told(name, commits, f"snapshots took {seconds} s; failed requests: {failed}")

    def _has_snapshot(self, begin: float, until: float) -> bool:
        return any(w[0] - MARGIN_S <= until and begin <= w[1] + MARGIN_S for w in self._written)

    async def _run(self) -> None:
        began = due = time.monotonic()
        async with asyncio.TaskGroup() as asking:
            while (now := time.monotonic()) < self._from + self._options.seconds:
                assert self._from < FOREVER or now < began + _STARTED_S, self._failed
                if self._leader is None:
                    await self._connect()
                    due = time.monotonic()
                    continue
                asking.create_task(self._ask(next(self._made)))
                due += AT_ONCE / self._options.rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def _ask(self, request: Request) -> None:
        connection, epoch = self._connections[request.connection], self._epoch
        begin = time.monotonic()
        try:
            answer = await connection.call(request.api, request.message, request.version)
        except PeerError as error:
            self._fail(type(error).__name__, epoch)
            return
        until = time.monotonic()
        codes = {code for code in request.errors(answer.message) if code}
        for code in codes:
            self._fail(error_name(code), epoch)
        if codes:
            return
        self._from = min(self._from, until + self._options.warm_up)
        if begin > self._from:
            self._answered.append((begin, until, epoch))

    def _fail(self, why: str, epoch: int) -> None:
        """Count a failed request, and look for the leader again, unless a leader of a newer epoch
        is known already."""
        if time.monotonic() > self._from:
            self._failed[why] += 1
        if epoch == self._epoch:
            self._leader = None

    async def _connect(self) -> None:
        """Connect to the leader, if there is one now."""
        await self._disconnect()
        await asyncio.sleep(_PAUSE_S)
        for node_id, voter in enumerate(self._voters, 1):
            with suppress(PeerError):
                connection = await self._connected(voter)
                quorum = await query_quorum(connection, TOPIC)
                if quorum.error == ErrorCode.NONE and quorum.leader_id == node_id:
                    for _ in range(1, BROKERS):
                        await self._connected(voter)
                    self._leader, self._epoch = voter, quorum.epoch
                    return
            await self._disconnect()

    async def _connected(self, voter: Voter) -> Connection:
        connection = await Connection.connect("127.0.0.1", voter.port, _CONFIG)
        self._connections.append(connection)
        return connection

    async def _disconnect(self) -> None:
        for connection in self._connections:
            await connection.close()
        self._connections = []

    async def _look(self) -> None:
        """Note the times during which a snapshot is being written in the leader's folder."""
        was = False
        while True:
            leader, now = self._leader, time.monotonic()
            names = os.listdir(leader.folder) if leader else ()
            if any(name.endswith(".checkpoint.part") for name in names):
                begin = self._written.pop()[0] if was else now
                self._written.append((begin, now))
                was = True
            else:
                was = False
            await asyncio.sleep(_LOOK_S)
