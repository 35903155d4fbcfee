"""The simulated disk loses what was not synced, and nothing else."""

from __future__ import annotations

from random import Random

import pytest

from replica.errors import UnreadableFileError, UnwritableFileError
from replica.simulate.disk import DiskFaults, PowerLossError, SimulatedDisk
from replica.storage.filesystem import replace_durably

FOLDER = "/disk"


def disk_of(seed: int) -> SimulatedDisk:
    disk = SimulatedDisk(Random(seed))
    disk.make_directory(FOLDER)
    return disk


def outcomes(seeds: int, story: str) -> set[bytes | None]:
    """The contents that /disk/a has after a crash, over seeds; None where it doesn't exist."""
    found: set[bytes | None] = set()
    for seed in range(seeds):
        disk = disk_of(seed)
        with disk.create(f"{FOLDER}/a") as file:
            for step in story.split():
                if step == "sync":
                    file.sync()
                elif step == "dirsync":
                    disk.sync_directory(FOLDER)
                else:
                    file.write(file.size(), step.encode())
        disk.crash()
        disk.restart()
        found.add(disk.content(f"{FOLDER}/a") if "a" in disk.names(FOLDER) else None)
    return found


def test_synced_bytes_survive_under_a_synced_name() -> None:
    assert outcomes(50, "one sync dirsync") == {b"one"}


def test_unsynced_writes_survive_in_any_subset_and_the_last_may_be_torn() -> None:
    found = outcomes(400, "dirsync one sync two six")
    assert {b"one", b"onetwo", b"onetwosix", b"one\0\0\0six", b"onetwos"} <= found
    assert all(content is not None and content.startswith(b"one") for content in found)


def test_after_a_crash_a_file_may_have_its_size_without_its_bytes() -> None:
    assert b"one\0\0\0" in outcomes(400, "dirsync one sync two")


def test_an_unsynced_name_may_be_lost_with_its_synced_bytes() -> None:
    assert outcomes(50, "one sync") == {b"one", None}


def test_an_unsynced_rename_happens_or_not() -> None:
    found = set()
    for seed in range(50):
        disk = disk_of(seed)
        replace_durably(disk, FOLDER, "state", b"old")
        with disk.create(f"{FOLDER}/state.tmp") as file:
            file.write(0, b"new")
            file.sync()
        disk.rename(f"{FOLDER}/state.tmp", f"{FOLDER}/state")
        disk.crash()
        disk.restart()
        found.add(disk.content(f"{FOLDER}/state"))
    assert found == {b"old", b"new"}


def test_a_replaced_file_is_old_or_new_whenever_power_is_lost() -> None:
    for calls in range(8):
        for seed in range(20):
            disk = disk_of(seed)
            replace_durably(disk, FOLDER, "state", b"old")
            disk.power_loss_in(calls)
            replaced = False
            try:
                replace_durably(disk, FOLDER, "state", b"new state")
                replaced = True
            except PowerLossError:
                pass
            disk.crash()
            disk.restart()
            assert disk.content(f"{FOLDER}/state") in (
                [b"new state"] if replaced else [b"old", b"new state"]
            )


def test_nothing_works_without_power_and_old_files_stay_dead() -> None:
    disk = disk_of(1)
    file = disk.create(f"{FOLDER}/a")
    disk.crash()
    with pytest.raises(PowerLossError):
        disk.names(FOLDER)
    disk.restart()
    with pytest.raises(PowerLossError):
        file.write(0, b"x")


def test_a_full_disk_takes_what_fits() -> None:
    disk = disk_of(1)
    disk.faults.capacity_bytes = 5
    with disk.create(f"{FOLDER}/a") as file:
        with pytest.raises(UnwritableFileError, match="a: no space left on device"):
            file.write(0, b"12345678")
        assert file.read(0, 10) == b"12345"


def test_bytes_of_a_failed_sync_are_not_written_by_a_later_sync() -> None:
    found = set()
    for seed in range(50):
        disk = disk_of(seed)
        with disk.create(f"{FOLDER}/a") as file:
            disk.sync_directory(FOLDER)
            file.write(0, b"x")
            disk.faults = DiskFaults(sync_error_rate=1.0)
            with pytest.raises(UnwritableFileError, match="input/output error"):
                file.sync()
            disk.faults = DiskFaults()
            assert file.read(0, 1) == b"x"
            file.sync()
        disk.crash()
        disk.restart()
        found.add(disk.content(f"{FOLDER}/a"))
    assert found == {b"", b"x"}


def test_reads_fail_as_often_as_they_are_told_to() -> None:
    disk = disk_of(1)
    replace_durably(disk, FOLDER, "a", b"1")
    disk.faults = DiskFaults(read_error_rate=1.0)
    with pytest.raises(UnreadableFileError):
        disk.open(f"{FOLDER}/a")


def test_slow_calls_add_up() -> None:
    disk = disk_of(1)
    disk.faults = DiskFaults(call_ms=2.5)
    replace_durably(disk, FOLDER, "a", b"1")
    assert disk.busy_ms == 2.5 * 5  # create, write, sync, rename, sync of the folder


def test_one_seed_gives_one_history() -> None:
    assert [outcomes(1, "one sync two six")] * 2 == [outcomes(1, "one sync two six") for _ in "ab"]
