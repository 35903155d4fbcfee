"""Fetch throughput: librdkafka (confluent-kafka) reading a partition from one kraftlake replica,
and the same bytes from one real Kafka broker, in turn.

python -m tests.bench.fetch FOLDER [--megabytes N] [--batch N] [--rounds N] [--write]

Records have values of 256 bytes, --batch of them in a batch. Both logs are read from a warm page
cache. --write: into tests/bench/FETCH.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import confluent_kafka

from replica.format.whole_batch import value_batch
from replica.wire.apis.writing import PRODUCE
from replica.wire.client import ClientConfig, Connection
from tests.bench.kafka import KafkaServer
from tests.bench.processes import cpu_seconds
from tests.bench.rounds import Spread, measure, ratios
from tests.interop.kafka_jars import NEWEST
from tests.interop.kafka_node import free_ports, run_tool
from tests.interop.reader_quorum import CLUSTER_ID, ORDERS, Node

MEBIBYTE = 1024 * 1024
VALUE_BYTES = 256
RECORD = Path(__file__).with_name("FETCH.md")
OURS, KAFKA = "kraftlake replica", f"Kafka {NEWEST} broker"


@dataclass(frozen=True)
class Server:
    """A server to read from. port: the port of its listener. pid: the process whose CPU time is
    measured. batches_a_request: the number of batches that a produce request may have; brokers take
    one."""

    port: int
    pid: int
    batches_a_request: int = 1

    @property
    def cpu_seconds(self) -> float:
        """The CPU seconds, user and system, since the process began."""
        return cpu_seconds(self.pid)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=128)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder = options.folder / "fetch-bench"
    folder.mkdir(parents=True)
    count = options.megabytes * MEBIBYTE // (VALUE_BYTES * options.batch)
    values = [os.urandom(VALUE_BYTES)] * options.batch
    batch = batch_of(0, values)
    try:
        with ExitStack() as stack:
            servers = {
                OURS: stack.enter_context(kraftlake(folder / "kraftlake")),
                KAFKA: stack.enter_context(kafka(folder / "kafka")),
            }
            for server in servers.values():
                asyncio.run(fill(server, values, count))
            text = page(*measured(servers, count * options.batch, options.rounds), options, batch)
    finally:
        shutil.rmtree(folder)
    sys.stdout.write(text)
    if options.write:
        RECORD.write_text(text)
    return 0


@dataclass
class Cpu:
    """The CPU seconds, user and system, of all rounds with one server."""

    server: float = 0.0
    consumer: float = 0.0


def measured(
    servers: dict[str, Server], records: int, rounds: int
) -> tuple[dict[str, list[float]], dict[str, Cpu]]:
    """The seconds of each round, and the CPU seconds. A round before them warms up."""
    cpu: dict[str, Cpu] = {}

    def work(name: str) -> float:
        server, spent = servers[name], cpu[name]
        before = server.cpu_seconds, time.process_time()
        seconds = read(server.port, records)
        spent.server += server.cpu_seconds - before[0]
        spent.consumer += time.process_time() - before[1]
        return seconds

    for name in servers:
        cpu[name] = Cpu()
        work(name)
        cpu[name] = Cpu()
    works = {name: partial(work, name) for name in servers}
    return measure(works, rounds, lambda line: sys.stderr.write(f"{line}\n")), cpu


def read(port: int, records: int) -> float:
    """The seconds from the first record's arrival until a new consumer has all records."""
    reader = confluent_kafka.Consumer(
        {
            "bootstrap.servers": f"127.0.0.1:{port}",
            "group.id": "bench",
            "enable.auto.commit": False,
            # by default librdkafka waits a second where its queue is full
            "fetch.queue.backoff.ms": 1,
        }
    )
    begin = confluent_kafka.TopicPartition(ORDERS.name, 0, confluent_kafka.OFFSET_BEGINNING)
    try:
        reader.assign([begin])
        found = len(reader.consume(1, timeout=60))
        began = time.perf_counter()
        while found < records:
            messages = reader.consume(min(10_000, records - found), timeout=60)
            assert messages, f"{found} of {records} records came"
            found += len(messages)
        return time.perf_counter() - began
    finally:
        reader.close()


@contextmanager
def kraftlake(folder: Path) -> Iterator[Server]:
    """A kraftlake replica as a quorum of one."""
    port, metrics = free_ports(2)
    node = Node(1, folder, metrics, ORDERS)
    folder.mkdir()
    (folder / "server.properties").write_text(
        f"node.id=1\nlog.dirs={folder}/log\nlisteners=CONTROLLER://127.0.0.1:{port}\n"
        f"controller.quorum.voters=1@127.0.0.1:{port}\nkraftlake.principals.administrator=*\n"
        f"controller.quorum.append.linger.ms=0\n"
        f"kraftlake.metrics.listener=127.0.0.1:{metrics}\n"
        f"kraftlake.topic.name={ORDERS.name}\nkraftlake.topic.id={ORDERS.id}\n"
    )
    node.format()
    node.start()
    assert node.process is not None
    try:
        while node.high_watermark <= 0:  # the replica elects itself, and commits a record
            assert node.process.poll() is None, (folder / "output.txt").read_text()
            time.sleep(0.1)
        yield Server(port, node.process.pid, batches_a_request=32)
    finally:
        node.kill()


@contextmanager
def kafka(folder: Path) -> Iterator[Server]:
    """A Kafka broker that is its own controller."""
    controller_port, port = free_ports(2)
    settings = {
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    }
    broker = KafkaServer(folder, 1, {1: controller_port}, is_static=True, settings=settings)
    broker.format(CLUSTER_ID)
    with broker:
        broker.wait_for("Kafka Server started")
        address = f"127.0.0.1:{port}"
        create = ("--create", "--topic", ORDERS.name, "--partitions", "1")
        main_class = "org.apache.kafka.tools.TopicCommand"
        ran = run_tool(main_class, "--bootstrap-server", address, *create)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        yield Server(port, broker.pid)


def batch_of(base_offset: int, values: list[bytes]) -> bytes:
    return value_batch(base_offset, 0, 1_795_231_128_672, values)


async def fill(server: Server, values: list[bytes], count: int) -> None:
    """Appends the values as one batch, `count` times."""
    config = ClientConfig(timeout_s=60.0)
    connection = await Connection.connect("127.0.0.1", server.port, config)
    version = min(connection.version_of(PRODUCE), 12)  # later versions name topics by id
    in_flight: set[asyncio.Task[None]] = set()

    async def append(batches: int) -> None:
        records = b"".join(batch_of(each * len(values), values) for each in range(batches))
        topic = {"name": ORDERS.name, "partitionData": [{"index": 0, "records": records}]}
        request = {"acks": -1, "timeoutMs": 30_000, "topicData": [topic]}
        answer = (await connection.call(PRODUCE, request, version)).message
        (partition,) = answer["responses"][0]["partitionResponses"]
        assert partition["errorCode"] == 0, partition

    try:
        for start in range(0, count, server.batches_a_request):
            if len(in_flight) == 5:
                done, in_flight = await asyncio.wait(in_flight, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
            batches = min(server.batches_a_request, count - start)
            in_flight.add(asyncio.create_task(append(batches)))
        await asyncio.gather(*in_flight)
    finally:
        await connection.close()


def page(
    seconds: dict[str, list[float]],
    cpu: dict[str, Cpu],
    options: argparse.Namespace,
    batch: bytes,
) -> str:
    """The results as Markdown."""
    count = options.megabytes * MEBIBYTE // (VALUE_BYTES * options.batch)
    megabytes = count * len(batch) / 1e6
    ratio = ratios(seconds[KAFKA], seconds[OURS])
    lines = [
        "# Fetch",
        "",
        f"`python -m tests.bench.fetch FOLDER --megabytes {options.megabytes} --batch "
        f"{options.batch}`: {options.rounds} interleaved rounds on {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} in the last minute, {datetime.now(UTC).date()}.",
        "",
        f"confluent-kafka {confluent_kafka.version()} (librdkafka "
        f"{confluent_kafka.libversion()[0]}) reads {count * options.batch:,} records with values "
        f"of {VALUE_BYTES} bytes, {megabytes:.0f} MB in batches of {len(batch):,} bytes, from one "
        "node. The consumer turns each record into a Python object, on the same machine.",
        "",
        "| from | MB/s: least | median | most | CPU s for a GB: server | consumer |",
        "|---|---|---|---|---|---|",
    ]
    for name, values in seconds.items():
        speeds = Spread.of([megabytes / value for value in values])
        gigabytes = megabytes * options.rounds / 1000
        spent = cpu[name].server / gigabytes, cpu[name].consumer / gigabytes
        lines.append(
            f"| {name} | {speeds.least:.0f} | {speeds.median:.0f} | {speeds.most:.0f} "
            f"| {spent[0]:.2f} | {spent[1]:.2f} |"
        )
    lines += [
        "",
        f"{OURS} to {KAFKA}, round by round: {ratio.least:.2f}, {ratio.median:.2f}, "
        f"{ratio.most:.2f} times as fast (least, median, most).",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
