"""What a full or broken disk does to a log: one clear error, then nothing until it is reopened."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from replica.errors import UnreadableFileError, UnwritableFileError
from replica.simulate.disk import DiskFaults, SimulatedDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.types import OffsetAndEpoch
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


def test_what_is_there_can_still_be_read_after_a_failed_write() -> None:
    disk, log = disk_and_log()
    disk.faults = DiskFaults(write_error_rate=1.0)
    with pytest.raises(UnwritableFileError):
        log.append([batch(4)])
    assert [b.base_offset for b in log.batches(0, 4)] == [0, 1, 2, 3]


def test_a_failed_read_is_one_clear_line_and_changes_nothing() -> None:
    disk, log = disk_and_log()
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
