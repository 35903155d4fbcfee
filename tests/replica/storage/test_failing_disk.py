"""What a full or broken disk does to a log: one clear error, then nothing until it is reopened."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from replica.errors import UnreadableFileError, UnwritableFileError
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import ElectionState
from replica.simulate.disk import DiskFaults, SimulatedDisk
from replica.storage.log import FileLog
from replica.storage.quorum_state_file import QuorumStateFile
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.replica.storage.content import batch, batches

FOLDER = "/log"


def disk_and_log() -> tuple[SimulatedDisk, FileLog]:
    disk = SimulatedDisk(Random(1))
    log = open_log(disk, FOLDER)
    log.append(batches(0, 4))
    log.flush()
    return disk, log


CHANGES: dict[str, Callable[[FileLog], object]] = {
    "append": lambda log: log.append([batch(log.log_end)]),
    "flush": FileLog.flush,
    "truncate": lambda log: log.truncate_to(2),
    "close": FileLog.close,
}


@pytest.mark.parametrize("change", sorted(CHANGES))
def test_after_a_failed_sync_every_change_is_refused_with_the_first_error(change: str) -> None:
    disk, log = disk_and_log()
    log.append([batch(4)])
    disk.faults = DiskFaults(sync_error_rate=1.0)
    with pytest.raises(UnwritableFileError, match=r"0\.log: input/output error") as first:
        log.flush()
    disk.faults = DiskFaults()
    with pytest.raises(UnwritableFileError) as later:
        CHANGES[change](log)
    assert later.value is first.value


def test_a_full_disk_is_one_clear_line_and_costs_no_synced_record() -> None:
    disk, log = disk_and_log()
    disk.faults = DiskFaults(capacity_bytes=disk.used_bytes() + 30)
    with pytest.raises(UnwritableFileError, match=r"0\.log: no space left on device"):
        log.append([batch(4)])
    disk.faults = DiskFaults()
    again = open_log(disk, FOLDER)
    assert again.log_end == 4
    assert "30 bytes cut, a torn end" in again.repairs[0]


def test_earlier_batches_can_be_read_after_a_failed_write() -> None:
    disk, log = disk_and_log()
    disk.faults = DiskFaults(write_error_rate=1.0)
    with pytest.raises(UnwritableFileError):
        log.append([batch(4)])
    assert [b.base_offset for b in log.batches(0, 4)] == [0, 1, 2, 3]


def test_a_failed_read_is_one_clear_line_and_changes_nothing() -> None:
    disk, log = disk_and_log()
    log.close()
    log = open_log(disk, FOLDER)  # which has nothing in memory
    disk.faults = DiskFaults(read_error_rate=1.0)
    with pytest.raises(UnreadableFileError, match=r"0\.log: input/output error"):
        log.read(0, 100)
    disk.faults = DiskFaults()
    assert log.append([batch(4)]) == 5


def test_a_disk_that_cannot_be_read_is_not_taken_for_a_damaged_log() -> None:
    disk, log = disk_and_log()
    log.close()
    before = disk.content(f"{FOLDER}/00000000000000000000.log")
    disk.faults = DiskFaults(read_error_rate=0.3)
    for _ in range(20):
        try:
            assert open_log(disk, FOLDER).log_end == 4
        except UnreadableFileError:
            continue
    assert disk.content(f"{FOLDER}/00000000000000000000.log") == before


def test_a_snapshot_that_could_not_be_synced_is_not_there() -> None:
    disk, log = disk_and_log()
    writer = log.snapshots.write(OffsetAndEpoch(4, 1), 1, ())
    disk.faults = DiskFaults(sync_error_rate=1.0)
    with pytest.raises(UnwritableFileError, match="part: input/output error"):
        writer.freeze()
    assert list(log.snapshots) == []
    disk.faults = DiskFaults()
    assert list(open_log(disk, FOLDER).snapshots) == []


SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_opening_a_log_writes_the_bytes_of_a_failed_sync_again(
    seed: int,
) -> None:
    disk = SimulatedDisk(Random(seed))
    log = open_log(disk, FOLDER)
    log.append(batches(0, 4))
    log.flush()
    log.append(batches(4, 5))
    disk.faults = DiskFaults(sync_error_rate=1.0)
    with pytest.raises(UnwritableFileError):
        log.flush()
    disk.faults = DiskFaults()
    end = open_log(disk, FOLDER).log_end  # what it holds is acknowledged to others from now on
    disk.crash()
    disk.restart()
    assert open_log(disk, FOLDER).log_end == end == 9


@pytest.mark.parametrize("seed", SEEDS)
def test_after_a_failed_sync_only_bytes_that_may_not_be_on_disk_are_written_again(
    seed: int,
) -> None:
    disk = SimulatedDisk(Random(seed))
    config = LogConfig(index_interval_bytes=100)
    log = open_log(disk, FOLDER, config)
    for start in range(0, 200, 5):
        log.append(batches(start, 5))
        log.flush()
    written: list[tuple[int, int]] = []
    original = SimulatedDisk._write

    def noting(disk, path, inode, write):
        if path.endswith(".log") and write.data:
            written.append((write.position, len(write.data)))
        original(disk, path, inode, write)

    disk._write = partial(noting, disk)
    size = open_log(disk, FOLDER, config).size_bytes
    assert all(at + length == size and length < 2000 for at, length in written)


def after_failed_syncs(seed: int, change: Callable[[SimulatedDisk], None]) -> SimulatedDisk | None:
    """The disk after a change that a failed sync ended; None where no sync failed."""
    disk = SimulatedDisk(Random(seed))
    open_log(disk, FOLDER).close()
    QuorumStateFile(disk, FOLDER).write(ElectionState(1))
    disk.faults = DiskFaults(sync_error_rate=0.5)
    try:
        change(disk)
    except UnwritableFileError:
        disk.faults = DiskFaults()
        return disk
    return None


@pytest.mark.parametrize("seed", range(40))
def test_an_election_that_was_read_survives_a_power_loss_after_a_failed_sync(seed: int) -> None:
    disk = after_failed_syncs(seed, lambda d: QuorumStateFile(d, FOLDER).write(ElectionState(2)))
    if disk is None:
        return
    read = QuorumStateFile(disk, FOLDER).read()
    disk.crash()
    disk.restart()
    assert QuorumStateFile(disk, FOLDER).read() == read


@pytest.mark.parametrize("seed", range(40))
def test_so_do_the_epochs_and_snapshots(seed: int) -> None:
    def change(disk: SimulatedDisk) -> None:
        log = open_log(disk, FOLDER)
        log.append([*batches(0, 4), batch(4, epoch=2)])
        log.flush()
        writer = log.snapshots.write(OffsetAndEpoch(4, 1), 1, ())
        writer.freeze()
        log.advance_log_start(4)

    disk = after_failed_syncs(seed, change)
    if disk is None:
        return
    facts = open_log(disk, FOLDER).facts()
    disk.crash()
    disk.restart()
    assert open_log(disk, FOLDER).facts() == facts
