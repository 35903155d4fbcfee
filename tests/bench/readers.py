"""What readers cost one replica: how fast it gives its log to one, and what thousands of them take.

python -m tests.bench.readers FOLDER [--megabytes N] [--rounds N] [--idle N] [--active N]
    [--seconds N] [--write]

The replica is a process of its own, which leads a quorum of one. One reader fetches its whole log
from a warm page cache, and only counts bytes. Then --idle readers connect and say nothing more, and
--active ones fetch what is new once a second while the replica appends. Each needs an open file at
both ends. --write: into tests/bench/READERS.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import socket
import statistics
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from replica.format.whole_batch import value_batch
from replica.model.batch import Batch
from replica.node.descriptors import raise_limit
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.scan.compiled import find_run
from replica.storage.filesystem import LocalDisk
from replica.storage.recovery import open_log
from replica.wire.apis.cluster import API_VERSIONS
from replica.wire.apis.fetching import FETCH
from replica.wire.header import WireRequest, encode_request
from tests.bench.memory import resident
from tests.bench.processes import cpu_seconds
from tests.bench.quorum_of_one import write_properties
from tests.bench.rounds import Spread
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import started

MEBIBYTE = 1024 * 1024
SHAPES = ((100, 1), (1024, 1), (10 * 1024, 1), (256, 64), (256, 1024))
"""(bytes of a value, records of a batch)."""
ANSWER_BYTES = 8 * MEBIBYTE
FILLED_IN, EPOCH = 1, 2
"""The epoch of the records, and the epoch in which the replica leads."""
TOPIC, TOPIC_ID, CLUSTER_ID = "orders", "AAAAAAAAAAAAAAAAAAAAAg", "AAAAAAAAAAAAAAAAAAAAAA"
RECORD = Path(__file__).with_name("READERS.md")
KEPT_FROM = "## Where the time goes"
"""The heading in RECORD from which on the text was measured otherwise, and stays."""
_WITHIN_S = 60.0


@dataclass(frozen=True)
class Replica:
    """A running replica. end: the offset after the log's last batch (exclusive)."""

    port: int
    pid: int
    end: int

    @property
    def cpu_seconds(self) -> float:
        return cpu_seconds(self.pid)

    @property
    def memory(self) -> float:
        """The MiB of the process in memory."""
        return resident(self.pid)[0] / MEBIBYTE

    @property
    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))


@contextmanager
def running(folder: Path, size: int, shape: tuple[int, int], *load: str) -> Iterator[Replica]:
    (port,) = free_ports(1)
    more = {
        "kraftlake.topic.name": TOPIC,
        "kraftlake.topic.id": TOPIC_ID,
        "kraftlake.principals.reader": "*",
        "max.connections": 20_000,
        "max.connections.per.ip": 20_000,
    }
    path = write_properties(folder, port, more)
    end = fill(path, size, *shape)
    process = started(folder / "output.txt", "replica", "run", "-c", path, *load)
    try:
        replica = Replica(port, process.pid, end)
        deadline = time.monotonic() + _WITHIN_S
        while "leader, leader 1" not in (folder / "output.txt").read_text():
            assert time.monotonic() < deadline
            assert process.poll() is None, (folder / "output.txt").read_text()
            time.sleep(0.05)
        yield replica
    finally:
        process.terminate()
        process.wait(_WITHIN_S)
        shutil.rmtree(folder)


def fill(path: Path, size: int, value: int, count: int) -> int:
    settings = settings_in(read_properties(str(path)))
    format_node(LocalDisk(), settings, CLUSTER_ID)
    log = open_log(LocalDisk(), settings.partition_folder, settings.log, settings.topic.id)
    whole, end = value_batch(0, 1, 1000, [os.urandom(value)] * count), 0
    for _ in range(size // len(whole)):
        data = struct.pack(">q", end) + whole[8:]
        log.append([Batch(end, end + count - 1, 1, 1000, (), data)])
        end += count
    log.close()
    return end


def frame(offset: int, replica_id: int = -1) -> bytes:
    """The bytes of a fetch request. replica_id: -1 for a reader."""
    asked = {
        "partition": 0,
        "currentLeaderEpoch": -1 if replica_id < 0 else EPOCH,
        "fetchOffset": offset,
        "lastFetchedEpoch": FILLED_IN if offset else 0,
        "partitionMaxBytes": ANSWER_BYTES,
    }
    message = {
        "replicaId": replica_id,
        "replicaState": {"replicaId": replica_id, "replicaEpoch": -1},
        "maxWaitMs": 500,
        "minBytes": 1,
        "maxBytes": ANSWER_BYTES,
        "topics": [{"topic": TOPIC, "topicId": TOPIC_ID, "partitions": [asked]}],
    }
    raw = encode_request(WireRequest(FETCH, 11 if replica_id < 0 else 17, 1, "bench", message))
    return len(raw).to_bytes(4, "big") + raw


def answered(connection: socket.socket, room: memoryview) -> int:
    """The number of bytes of the next answer. `room` then has these bytes."""
    read = 0
    while read < 4:
        read += connection.recv_into(room[read:4])
    size = int.from_bytes(room[:4], "big")
    read = 0
    while read < size:
        read += connection.recv_into(room[read:size])
    return size


def read_all(
    replica: Replica, batch_bytes: int, count: int, replica_id: int = -1
) -> tuple[int, float, float]:
    """(bytes, seconds, the replica's CPU seconds) of reading the whole log once."""
    room, offset, total = memoryview(bytearray(2 * ANSWER_BYTES)), 0, 0
    with socket.create_connection(("127.0.0.1", replica.port), _WITHIN_S) as connection:
        began, cpu = time.perf_counter(), replica.cpu_seconds
        while offset < replica.end:
            connection.sendall(frame(offset, replica_id))
            size = answered(connection, room)
            # the part of an answer besides records is smaller than a batch
            assert size >= batch_bytes, "the reader gets records, not an error"
            offset, total = offset + size // batch_bytes * count, total + size
        return total, time.perf_counter() - began, replica.cpu_seconds - cpu


def throughput(folder: Path, size: int, rounds: int) -> Iterator[str]:
    yield "| batches | asked by | MiB/s: least | median | most | CPU s of the replica for a GiB |\n"
    yield "|---|---|---|---|---|---|\n"
    for value, count in SHAPES:
        whole = len(value_batch(0, 1, 1000, [bytes(value)] * count))
        with running(folder, size, (value, count)) as replica:
            read_all(replica, whole, count)  # the replica may still be replaying its log
            for who, replica_id in (("a reader", -1), ("a replica", 77)):
                found = [read_all(replica, whole, count, replica_id) for _ in range(rounds)]
                rates = Spread.of([total / seconds / MEBIBYTE for total, seconds, _ in found])
                cpu = statistics.median(cpu / total * 1024 * MEBIBYTE for total, _, cpu in found)
                yield (
                    f"| {count:,} x {value:,} B | {who} | {rates.least:,.0f} | "
                    f"{rates.median:,.0f} | {rates.most:,.0f} | {cpu:.2f} |\n"
                )


def crowd(folder: Path, idle: int, active: int, seconds: int) -> Iterator[str]:
    yield "| readers | open files | memory, MiB | CPU, % of a core | a fetch, ms: median | p99 |\n"
    yield "|---|---|---|---|---|---|\n"
    with ExitStack() as stack:
        replica = stack.enter_context(running(folder, MEBIBYTE, (100, 1), "--workload", "10,100"))
        yield row("none", replica)
        hello = encode_request(WireRequest(API_VERSIONS, 0, 1, "bench", {}))
        room = memoryview(bytearray(64 * 1024))
        for _ in range(idle):
            connection = socket.create_connection(("127.0.0.1", replica.port), _WITHIN_S)
            stack.callback(connection.close)
            connection.sendall(len(hello).to_bytes(4, "big") + hello)
            answered(connection, room)
        yield row(f"{idle:,} idle", replica)
        for _ in range(3):
            cpu = replica.cpu_seconds
            latencies = asyncio.run(read_news(replica, active, seconds))
            used = (replica.cpu_seconds - cpu) / seconds * 100
            name = f"{idle:,} idle, {active:,} active for {seconds} s"
            yield row(name, replica, used, sorted(latencies))


def row(name: str, replica: Replica, cpu: float = 0, latencies: list[float] | None = None) -> str:
    times = "| | |"
    if latencies:
        at = [latencies[int(len(latencies) * share)] * 1000 for share in (0.5, 0.99)]
        times = f"| {at[0]:,.0f} | {at[1]:,.0f} |"
    return f"| {name} | {replica.files:,} | {replica.memory:,.0f} | {cpu:,.0f} {times}\n"


async def read_news(replica: Replica, active: int, seconds: int) -> list[float]:
    """The seconds of each fetch, for readers that fetch once per second at different moments."""
    found: list[float] = []

    async def read(number: int) -> None:
        await asyncio.sleep(number / active)
        reader, writer = await asyncio.open_connection("127.0.0.1", replica.port)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            began = time.monotonic()
            writer.write(frame(replica.end - 1))
            size = int.from_bytes(await reader.readexactly(4), "big")
            await reader.readexactly(size)
            found.append(time.monotonic() - began)
            await asyncio.sleep(max(0.0, 1 - found[-1]))
        writer.close()
        await writer.wait_closed()

    await asyncio.gather(*map(read, range(active)))
    return found


def main() -> int:
    find_run.load()  # compiles it where `make setup` has not
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--active", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    raise_limit()
    folder = options.folder / "readers-bench"
    rates = list(throughput(folder, options.megabytes * MEBIBYTE, options.rounds))
    many = list(crowd(folder, options.idle, options.active, options.seconds))
    text = (
        "# Readers\n\n"
        f"`python -m tests.bench.readers FOLDER --megabytes {options.megabytes} --idle "
        f"{options.idle} --active {options.active}` on {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} in the last minute, {datetime.now(UTC).date()}. The readers run "
        "on the same machine.\n\nOne reader fetches "
        f"{ANSWER_BYTES // MEBIBYTE} MiB at once from a warm page cache, {options.rounds} rounds. "
        "The replica checks every CRC that it reads. Between two answers to readers it pauses for "
        "as long as an answer took, so that voters are not kept waiting; a voter's fetch isn't "
        "held back so, and the CPU seconds say how fast a follower can get the log."
        f"\n\n{''.join(rates)}\n"
        "Readers that only hold a connection, and readers that fetch some kilobytes a second "
        f"while the replica appends 10 records a second.\n\n{''.join(many)}"
    )
    sys.stdout.write(text)
    if options.write:
        _, mark, kept = RECORD.read_text().partition(KEPT_FROM)
        RECORD.write_text(f"{text}\n{mark}{kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
