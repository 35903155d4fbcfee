"""Speed of storage: appends with and without a sync each, reads, and opening after a crash.

python -m tests.bench.storage FOLDER [--megabytes N] [--appends N]

FOLDER decides which disk is measured. The bare disk's own syncs, in the same run, are the
yardstick of the synced appends.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from replica.format.batch import decode_header
from replica.raft.ports import Batch
from replica.storage.batches import value_batch
from replica.storage.filesystem import LocalDisk
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig

MEBIBYTE = 1024 * 1024
SMALL, LARGE = 100, 10_000
"""Bytes of a record's value: a broker's heartbeat of metadata; many records in one batch."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--appends", type=int, default=20_000)
    options = parser.parse_args()
    folder = options.folder / "storage-bench"
    folder.mkdir(parents=True)
    try:
        for line in measure(folder, options.appends, options.megabytes * MEBIBYTE):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    finally:
        shutil.rmtree(folder)
    return 0


def measure(folder: Path, appends: int, size: int) -> Iterator[str]:
    """A line for each figure."""
    synced = max(1, appends // 100)
    yield per_second("bare write + fsync", synced, bare_syncs(folder / "bare", synced))
    yield per_second("append + flush", synced, appended(folder / "synced", synced, 1))
    yield per_second("append, a flush every 100", appends, appended(folder / "100", appends, 100))
    yield per_second("append, no flush", appends, appended(folder / "none", appends, 0))
    for value in (SMALL, LARGE):
        for segments, segment_bytes in (("one segment", 2**31 - 1), ("16 segments", size // 16)):
            name = f"{size // MEBIBYTE} MiB of {value} B batches, {segments}"
            place = folder / f"{value}-{segment_bytes}"
            fill(place, size, value, segment_bytes)
            yield per_gibibyte(f"read: {name}", size, read(place, segment_bytes))
            yield per_gibibyte(f"open: {name}", size, opened(place, segment_bytes, facts=False))
            yield per_gibibyte(f"open and facts: {name}", size, opened(place, segment_bytes))


def per_second(what: str, count: int, seconds: float) -> str:
    return f"{what}: {count / seconds:,.0f} per second ({count:,} in {seconds:.2f} s)"


def per_gibibyte(what: str, size: int, seconds: float) -> str:
    return f"{what}: {seconds * 1024 * MEBIBYTE / size:.2f} s per GiB ({seconds:.3f} s)"


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
    """Seconds of `count` appends of one batch each; flush_every 0: never."""
    log = open_log(LocalDisk(), str(folder))
    made, taken = [batch(number, SMALL) for number in range(count)], list[float]()
    with stopwatch(taken):
        for number, each in enumerate(made, start=1):
            log.append([each])
            if flush_every and number % flush_every == 0:
                log.flush()
    log.close()
    return taken[0]


def fill(folder: Path, size: int, value: int, segment_bytes: int) -> None:
    log = open_log(LocalDisk(), str(folder), LogConfig(segment_bytes=segment_bytes))
    count = size // len(batch(0, value).data)
    for number in range(count):
        log.append([batch(number, value)])
    log.close()


def opened(folder: Path, segment_bytes: int, *, facts: bool = True) -> float:
    """Seconds to open a log whose last batch is torn, from a warm page cache."""
    config = LogConfig(segment_bytes=segment_bytes)
    log = open_log(LocalDisk(), str(folder), config)
    log.append([batch(log.log_end, SMALL)])
    log.close()
    newest = max(folder.glob("*.log"))
    os.truncate(newest, newest.stat().st_size - 1)
    for index in folder.glob(f"{newest.stem}.*index"):
        index.unlink()  # as if it had not been synced: else the cut would be a loss
    taken: list[float] = []
    with stopwatch(taken):
        log = open_log(LocalDisk(), str(folder), config)
        if facts:
            log.facts()
    assert len(log.repairs) == 1, "the torn batch was cut"
    log.close()
    return taken[0]


def read(folder: Path, segment_bytes: int) -> float:
    """Seconds to read all of it in slices of 1 MiB, CRCs checked."""
    log = open_log(LocalDisk(), str(folder), LogConfig(segment_bytes=segment_bytes))
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
