"""Speed of storage: appends with and without a sync each, reads, and opening after a crash, with
and without a snapshot near the end.

python -m tests.bench.storage FOLDER [--megabytes N] [--appends N] [--rounds N] [--write]

FOLDER decides which disk is measured. The bare disk's own syncs, in the same round, are the
yardstick of the synced appends. --write: into tests/bench/STORAGE.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from replica.format.batch import decode_header
from replica.format.runs import FindRun, plain_run, use
from replica.format.whole_batch import value_batch
from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.scan.compiled_runs import compiled_run
from replica.storage.filesystem import LocalDisk
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.bench.rounds import Measure, Spread, measure

MEBIBYTE = 1024 * 1024
VALUES = _, SMALL, _, _ = 10, 100, 1024, 10 * 1024
"""The bytes of a record's value. Each batch has one record, so the smallest value is the hardest
case."""
FINDERS = {"machine code": compiled_run, "plain Python": plain_run}
"""The ways to find batches. A replica with the bulk reader uses machine code for a log of 64 MiB or
more."""
BEHIND_SNAPSHOT = MEBIBYTE
RECORD = Path(__file__).with_name("STORAGE.md")
ABOUT = f"""Appends have values of {SMALL} B. Opening is from a torn end on, with the facts that the
core asks for. Without a snapshot every batch of the newest segment is read, whatever stopped the
process: Kafka also takes no clean shutdown for granted (KafkaMetadataLog opens with recovery point
0), and a bit that has rotted in acknowledged data is found before the replica votes. With a
snapshot, what lies behind its end is read. Reading is by slices of 1 MiB, every CRC checked.
Batches are found by the bulk reader's machine code, which a replica with a log of 64 MiB or more
uses where it is installed and compiled, or by plain Python. The content is the same.
"""


@dataclass(frozen=True)
class Contender:
    """The work of one round, and its amount: appends, or bytes of log."""

    work: Measure
    appends: int = 0
    bytes: int = 0

    def row(self, name: str, seconds: list[float]) -> str:
        spread = Spread.of(seconds)
        if self.appends:
            rates = [self.appends / s for s in (spread.most, spread.median, spread.least)]
            return f"| {name} | {rates[0]:,.0f} | {rates[1]:,.0f} | {rates[2]:,.0f} | per second |"
        times = [spread.least, spread.median, spread.most]
        per_gib = spread.median * 1024 * MEBIBYTE / self.bytes
        shown = " | ".join(f"{each * 1000:,.1f}" for each in times)
        return f"| {name} | {shown} | ms; {per_gib:.2f} s per GiB |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--appends", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder = options.folder / "storage-bench"
    folder.mkdir(parents=True)
    try:
        contenders = {
            **appending(folder, options.appends),
            **recovering(folder, options.megabytes * MEBIBYTE),
        }
        works = {name: contender.work for name, contender in contenders.items()}
        seconds = measure(works, options.rounds, lambda line: sys.stderr.write(f"{line}\n"))
    finally:
        shutil.rmtree(folder)
    lines = [
        "# Storage\n",
        f"`python -m tests.bench.storage FOLDER`: {options.rounds} interleaved rounds on "
        f"{os.cpu_count()} cores, load {os.getloadavg()[1]:.1f} in the last five minutes, "
        f"{datetime.now(UTC).date()}. Logs are read from a warm page cache.\n",
        "| what | least | median | most | |",
        "|---|---|---|---|---|",
        *(contender.row(name, seconds[name]) for name, contender in contenders.items()),
    ]
    text = "\n".join(lines) + f"\n\n{ABOUT}"
    sys.stdout.write(text)
    if options.write:
        RECORD.write_text(text)
    return 0


def appending(folder: Path, appends: int) -> dict[str, Contender]:
    synced = max(1, appends // 100)

    def fresh(count: int, flush_every: int) -> Contender:
        return Contender(lambda: appended(folder, count, flush_every), appends=count)

    return {
        "bare write + fsync": Contender(lambda: bare_syncs(folder / "bare", synced), synced),
        "append + flush": fresh(synced, 1),
        "append, a flush every 100": fresh(appends, 100),
        "append, no flush": fresh(appends, 0),
    }


def recovering(folder: Path, size: int) -> dict[str, Contender]:
    """Logs of two sizes, to see what grows with the log; with one segment and with many."""
    found = {}
    for value in VALUES:
        for each in (size // 4, size):
            for many in (False, True):
                segment_bytes = MEBIBYTE if many else 2**31 - 1
                config = LogConfig(segment_bytes=segment_bytes)
                name = f"{each // MEBIBYTE} MiB of {value:,} B records, "
                name += "segments of 1 MiB" if many else "one segment"
                place = folder / f"{value}-{each}-{many}"
                fill(place, each, value, config)
                for how, find in FINDERS.items():
                    work = partial(opened, place, config, find)
                    found[f"open: {name}, {how}"] = Contender(work, bytes=each)
                covered = Path(shutil.copytree(place, f"{place}-snapshot"))
                write_snapshot(covered, value, config)
                work = partial(opened, covered, config)
                title = f"open: {name}, snapshot 1 MiB before the end"
                found[title] = Contender(work, bytes=each)
                for how, find in FINDERS.items():
                    work = partial(read, covered, config, find)
                    found[f"read: {name}, {how}"] = Contender(work, bytes=each)
    return found


@contextmanager
def stopwatch(seconds: list[float]) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - start)


def batch(base_offset: int, value: int) -> Batch:
    data = value_batch(base_offset, 1, 1_795_231_128_672 + base_offset, [bytes(value)])
    return Batch(base_offset, base_offset, 1, 0, (), data)


def bare_syncs(path: Path, count: int) -> float:
    data, taken = batch(0, SMALL).data, list[float]()
    with LocalDisk().create(str(path)) as file, stopwatch(taken):
        for number in range(count):
            file.write(number * len(data), data)
            file.sync()
    return taken[0]


def appended(folder: Path, count: int, flush_every: int) -> float:
    """The seconds of `count` appends of one batch each. flush_every: 0 for no flush."""
    place = folder / "appended"
    log = open_log(LocalDisk(), str(place))
    made, taken = [batch(number, SMALL) for number in range(count)], list[float]()
    with stopwatch(taken):
        for number, each in enumerate(made, start=1):
            log.append([each])
            if flush_every and number % flush_every == 0:
                log.flush()
    log.close()
    shutil.rmtree(place)
    return taken[0]


def fill(folder: Path, size: int, value: int, config: LogConfig) -> None:
    log = open_log(LocalDisk(), str(folder), config)
    for number in range(size // len(batch(0, value).data)):
        log.append([batch(number, value)])
    log.close()


def write_snapshot(folder: Path, value: int, config: LogConfig) -> None:
    """Writes a snapshot that ends 1 MiB before the log's end."""
    log = open_log(LocalDisk(), str(folder), config)
    end = log.log_end - min(log.log_end - 1, BEHIND_SNAPSHOT // len(batch(0, value).data))
    log.snapshots.write(OffsetAndEpoch(end, 1), 1, ()).freeze()
    log.close()


def opened(folder: Path, config: LogConfig, find: FindRun = plain_run) -> float:
    """The seconds to open a log whose last batch is torn, and to know its content."""
    use(find)
    newest = max(folder.glob("*.log"))
    with newest.open("ab") as file:
        file.write(batch(0, SMALL).data[:-1])
    taken: list[float] = []
    with stopwatch(taken):
        log = open_log(LocalDisk(), str(folder), config)
        log.facts()
    assert len(log.repairs) == 1, "the torn batch was cut"
    log.close()
    return taken[0]


def read(folder: Path, config: LogConfig, find: FindRun) -> float:
    """The seconds to read the whole log in slices of 1 MiB, with CRCs checked."""
    use(find)
    log = open_log(LocalDisk(), str(folder), config)
    taken: list[float] = []
    offset, size = log.log_start, batch_size(log.read(log.log_start, 1))
    with stopwatch(taken):
        while data := log.read(offset, MEBIBYTE):
            offset += len(data) // size
    assert offset == log.log_end
    log.close()
    return taken[0]


def batch_size(data: bytes) -> int:
    return decode_header(data).size_bytes


if __name__ == "__main__":
    sys.exit(main())
