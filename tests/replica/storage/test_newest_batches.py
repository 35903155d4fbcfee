"""The newest batches come from memory, as they would come from the disk."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.model.batch import Batch
from replica.model.epochs import OffsetAndEpoch
from replica.simulate.disk import DiskFaults, SimulatedDisk
from replica.storage.log import FileLog
from replica.storage.newest_batches import NewestBatches
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.replica.storage.content import batch, batches, leader_change


def new_log(newest_bytes: int, segment_bytes: int = 2**30) -> tuple[SimulatedDisk, FileLog]:
    disk = SimulatedDisk(Random(1))
    disk.make_directory("node")
    config = LogConfig(segment_bytes, index_interval_bytes=100, newest_bytes=newest_bytes)
    return disk, open_log(disk, "node/log", config)


def asked(log: FileLog, chance: Random) -> None:
    """Whatever a log is asked for, the memory and the files give the same."""
    if log.log_start == log.log_end:
        return
    start = chance.randrange(log.log_start, log.log_end)
    end = chance.randint(start + 1, log.log_end)
    on_disk = list(log.stored(start, end))
    assert list(log.batches(start, end)) == on_disk
    size = chance.choice((0, 100, 1000, 2**20))
    got = bytes(log.read(start, size, end))
    pieces = b"".join(each.data for each in on_disk)
    assert pieces.startswith(got), "whole batches, from the one that holds the first offset on"
    assert len(got) <= max(size, len(on_disk[0].data))
    assert len(got) >= len(on_disk[0].data)


@given(st.integers(0, 2**32), st.sampled_from((0, 2000, 2**20)), st.sampled_from((600, 2**30)))
def test_memory_gives_what_the_files_hold_whatever_happens_to_the_log(
    seed: int, newest_bytes: int, segment_bytes: int
) -> None:
    chance = Random(seed)
    _, log = new_log(newest_bytes, segment_bytes)
    epoch = 1
    for _ in range(30):
        action = chance.random()
        if action < 0.6:
            base, count = log.log_end, chance.choice((1, 1, 3))
            log.append([batch(base, count, epoch, chance.choice((1, 300)))])
        elif action < 0.7:
            epoch += 1
            log.append([leader_change(log.log_end, epoch)])
        elif action < 0.85 and log.log_end > log.log_start:
            log.truncate_to(chance.randint(log.log_start, log.log_end))
        elif action < 0.9:
            epoch += 1
            newer = OffsetAndEpoch(log.log_end + 5, epoch)
            log.snapshots.write(newer, 0, []).freeze()
            log.reset_to(newer)
        asked(log, chance)


def test_what_was_written_is_given_though_the_disk_reads_nothing() -> None:
    disk, log = new_log(2**20)
    log.append(batches(0, 20))
    disk.faults = DiskFaults(read_error_rate=1.0)
    assert [each.base_offset for each in log.batches(3, 20)] == list(range(3, 20))
    assert len(log.read(0, 2**20)) == log.size_bytes


def test_no_batch_that_a_truncation_removed_is_given_again() -> None:
    _, log = new_log(2**20)
    log.append(batches(0, 10))
    log.truncate_to(4)
    log.append(batches(4, 3, epoch=2))
    assert [each.epoch for each in log.batches(0, 7)] == [1] * 4 + [2] * 3


def test_the_memory_is_bounded_by_bytes_also_where_batches_are_small() -> None:
    newest = NewestBatches(100_000)
    for offset in range(10_000):
        newest.add(Batch(offset, offset, 1, data=b"x"))
    kept = newest.between(9_999, 10_000)
    assert kept is not None
    first = next(n for n in range(10_000) if newest.between(n, n + 1) is not None)
    assert 100 < 10_000 - first < 300
    assert newest.read(first - 1, 100, 10_000) is None


@pytest.mark.parametrize("size", [200_000, 10])
def test_a_batch_larger_than_the_memory_leaves_nothing_before_it(size: int) -> None:
    newest = NewestBatches(1000)
    newest.add(Batch(0, 0, 1, data=b"a"))
    newest.add(Batch(1, 1, 1, data=bytes(size)))
    assert (newest.between(0, 2) is None) == (size > 1000)
