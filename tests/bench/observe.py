"""Whether `kraftlake replica observe` keeps up with a leader that writes 100,000 metadata records a
second, and what it takes.

python -m tests.bench.observe FOLDER [--rate N] [--seconds N] [--warm-up N]

The leader is a kraftlake replica in its own process, the only voter. It appends changes of
partitions, as controllers write them, but replays none of them: at this rate only the observer is
measured. Then the same with `--metrics`, where the observer replays each record.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

from replica.machines.opaque import OpaqueMachine
from replica.metadata.codec import encode
from replica.node import assembly
from replica.node.driver import Driver
from replica.node.formatting import format_node
from replica.node.properties import read_properties
from replica.node.settings import settings_in
from replica.raft.inputs import Append
from replica.raft.leader.accumulator import BufferAllocationError
from replica.raft.roles import Leader
from replica.storage.filesystem import LocalDisk
from tests.bench.lag import measured_lag
from tests.bench.memory import resident
from tests.bench.quorum_of_one import write_properties
from tests.interop.kafka_node import free_ports
from tests.kraftlake_process import logged, started
from tests.replica.metadata.image.made import broker, change, partition, topic

PARTITIONS = 1_000
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAA"
TICK_S = 0.001
MEBIBYTE = 1024 * 1024
LOG = "__cluster_metadata-0"
NO_SNAPSHOTS = {
    "metadata.log.max.snapshot.interval.ms": 0,
    "metadata.log.max.record.bytes.between.snapshots": 2**62,
}


def values() -> Iterator[bytes]:
    """A topic, and then an endless sequence of changes of its partitions."""
    yield from map(encode, (broker(1), broker(2), topic()))
    numbers = range(PARTITIONS)
    yield from (encode(partition(partitionId=number)) for number in numbers)
    changes = [
        encode(change(partitionId=number, isr=isr, leader=isr[0]))
        for isr in ((1,), (2, 1))
        for number in numbers
    ]
    yield from cycle(changes)


async def lead(config: str, rate: int) -> None:
    """Runs the leader, which appends `rate` records per second until it is killed."""
    assembly._machine = lambda settings: OpaqueMachine()
    node, lock = assembly.opened(settings_in(read_properties(config)), lambda notice: None)
    with lock:
        running = asyncio.create_task(node.run(None))
        appending = asyncio.create_task(append(node.driver, rate))
        await asyncio.wait({running, appending}, return_when=asyncio.FIRST_COMPLETED)


async def append(driver: Driver, rate: int) -> None:
    loop, made, pending = asyncio.get_running_loop(), values(), set()
    while not isinstance(driver.raft.role, Leader):
        await driver.wait_for_news(1.0)
    due = loop.time()
    while True:
        count = min(int((loop.time() - due) * rate), rate // 10)
        if count:
            due += count / rate
            wanted = Append(driver.raft.role.epoch, tuple(islice(made, count)))
            task = asyncio.create_task(committed(driver, wanted))
            pending.add(task)
            task.add_done_callback(pending.discard)
        await asyncio.sleep(TICK_S)


async def committed(driver: Driver, wanted: Append) -> None:
    with suppress(BufferAllocationError):
        await driver.append(wanted)


@dataclass(frozen=True)
class Running:
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.log.glob("*.log"))


@contextmanager
def ended(process: subprocess.Popen[bytes], log: Path) -> Iterator[Running]:
    try:
        yield Running(process, log)
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def leader(folder: Path, rate: int, port: int) -> Iterator[Running]:
    path = write_properties(folder, port, NO_SNAPSHOTS)
    settings = settings_in(read_properties(str(path)))
    format_node(LocalDisk(), settings, CLUSTER_ID)
    words = [sys.executable, "-m", __spec__.name, "--lead", str(path), "--rate", str(rate)]
    process = logged(folder / "output.txt", words)
    with ended(process, Path(settings.partition_folder)) as running:
        deadline = time.monotonic() + 60
        while running.size < MEBIBYTE:
            assert process.poll() is None, (folder / "output.txt").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield running


def measured(folder: Path, options: argparse.Namespace, *, with_metrics: bool) -> str:
    port, metrics = free_ports(2)
    more = ("--metrics", f"127.0.0.1:{metrics}") if with_metrics else ()
    recording = folder / "recording"
    with leader(folder / "leader", options.rate, port) as leading:
        where = ("-b", f"127.0.0.1:{port}", "-o", recording, "--cluster-id", CLUSTER_ID)
        process = started(folder / "observer.txt", "replica", "observe", *where, *more)
        with ended(process, recording / LOG) as observer:
            time.sleep(options.warm_up)
            assert process.poll() is None, (folder / "observer.txt").read_text()
            return row(leading, observer, options, metrics if with_metrics else None)


def row(
    leading: Running, observer: Running, options: argparse.Namespace, metrics: int | None
) -> str:
    pid, answers = observer.process.pid, list[float]()

    def scrape(look: int) -> None:
        if metrics is not None and look % 10 == 0:
            answers.append(scraped(metrics))

    memory = resident(pid)[0]
    lag = measured_lag(leading, observer, pid, options.seconds, scrape)
    now = resident(pid)[0]
    return (
        f"| {'--metrics' if metrics else ''} | {lag.rate / 1e6:.1f} | {lag.median_ms:,.0f} | "
        f"{lag.most_ms:,.0f} | {lag.last_ms:,.0f} | {lag.cpu_share:.2f} | "
        f"{memory / MEBIBYTE:.0f} to {now / MEBIBYTE:.0f} | "
        f"{f'{max(answers):.2f}' if answers else ''} |"
    )


def scraped(port: int) -> float:
    """The seconds that a scrape took."""
    began = time.monotonic()
    with suppress(urllib.error.URLError, TimeoutError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read()
    return time.monotonic() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--rate", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warm-up", type=float, default=10.0)
    parser.add_argument("--lead", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.lead:
        asyncio.run(lead(options.lead, options.rate))
        return 0
    print(  # noqa: T201
        f"{options.rate:,} records/s for {options.seconds:g} s after {options.warm_up:g} s, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before, {datetime.now(UTC).date()}"
        "\n\n| `replica observe` | MB/s | behind by, ms: median | most | at the end | CPU s each "
        "second | memory, MiB | longest scrape, s |\n|---|---|---|---|---|---|---|---|"
    )
    for with_metrics in (False, True):
        folder = options.folder / "observe-bench"
        folder.mkdir(parents=True)
        try:
            print(measured(folder, options, with_metrics=with_metrics), flush=True)  # noqa: T201
        finally:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
