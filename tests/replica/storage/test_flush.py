"""A flush whose sync another thread does while the log goes on."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from replica.errors import UnwritableFileError
from replica.model.epochs import OffsetAndEpoch
from replica.simulate.disk import DiskFaults, SimulatedDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.replica.storage.content import batch, batches

FOLDER = "/log"


def new_log(**config: int) -> tuple[SimulatedDisk, FileLog]:
    disk = SimulatedDisk(Random(1))
    log = open_log(disk, FOLDER, LogConfig(index_interval_bytes=1, **config))
    log.append(batches(0, 4))
    return disk, log


def log_ends_after_power_loss(
    change: Callable[[SimulatedDisk, FileLog], object], **config: int
) -> set[int]:
    """Where the log may end: which unsynced bytes are lost is a matter of chance."""
    ends = set()
    for seed in range(20):
        disk, log = new_log(**config)
        change(disk, log)
        disk._random.seed(seed)
        disk.crash()
        disk.restart()
        ends.add(open_log(disk, FOLDER).log_end)
    return ends


def test_a_flush_makes_durable_what_was_appended_before_it_began() -> None:
    def change(disk: SimulatedDisk, log: FileLog) -> None:
        begun = log.begin_flush()
        log.append([batch(4), batch(5)])
        begun.run()
        assert log.flushed_end == 0, "nobody has counted it"
        assert log.end_flush(begun) == log.flushed_end == 4

    assert log_ends_after_power_loss(change) == {4, 5, 6}


def test_nothing_is_durable_before_the_sync_is_done() -> None:
    assert 0 in log_ends_after_power_loss(lambda disk, log: log.begin_flush())


def test_index_entries_of_batches_that_are_not_synced_are_not_written() -> None:
    """Opening takes an entry for a proof that the bytes of its batch are on the disk."""
    disk, log = new_log()
    begun = log.begin_flush()
    log.append([batch(4), batch(5)])
    log.end_flush(begun)
    entries = {name: len(disk.content(f"{FOLDER}/{name}")) for name in disk.names(FOLDER)}
    log.flush()
    more = {name: len(disk.content(f"{FOLDER}/{name}")) for name in disk.names(FOLDER)}
    (name,) = (name for name in more if name.endswith(".index"))
    assert entries[name] == 3 * 8, "the first batch of a segment has no entry"
    assert more[name] == 5 * 8


WAITING: dict[str, Callable[[SimulatedDisk, FileLog], object]] = {
    "truncate": lambda disk, log: log.truncate_to(3),
    "close": lambda disk, log: log.close(),
    "flush": lambda disk, log: log.flush(),
    "a new segment": lambda disk, log: log.append([batch(4), batch(5), batch(6)]),
}


@pytest.mark.parametrize("name", sorted(WAITING))
def test_what_changes_more_than_the_end_of_the_log_waits_for_the_sync(name: str) -> None:
    disk, log = new_log(segment_bytes=400)
    begun = log.begin_flush()
    WAITING[name](disk, log)
    assert log._flushing is None
    end = log.flushed_end
    calls = disk.calls
    begun.run()
    assert log.end_flush(begun) == end, "it is counted once"
    assert disk.calls == calls
    assert end == {"truncate": 3, "close": 4, "flush": 4}.get(name, log._active.base_offset)


def test_a_restart_at_a_snapshot_waits_for_the_sync() -> None:
    _, log = new_log()
    begun = log.begin_flush()
    snapshot_id = OffsetAndEpoch(9, 5)
    log.snapshots.write(snapshot_id, 0, []).freeze()
    log.reset_to(snapshot_id)
    assert log.end_flush(begun) == 9


def test_a_sync_that_failed_in_a_thread_is_not_tried_again() -> None:
    """A second one would succeed, though the bytes are lost."""
    disk, log = new_log()
    begun = log.begin_flush()
    disk.faults = DiskFaults(sync_error_rate=1.0)
    with pytest.raises(UnwritableFileError) as first:
        begun.run()
    disk.faults = DiskFaults()
    for again in (lambda: log.end_flush(begun), begun.run, log.flush, log.close):
        with pytest.raises(UnwritableFileError) as later:
            again()
        assert later.value is first.value
    assert log.flushed_end == 0


def test_one_flush_is_under_way_at_a_time() -> None:
    _, log = new_log()
    log.begin_flush()
    with pytest.raises(AssertionError, match="one flush at a time"):
        log.begin_flush()
