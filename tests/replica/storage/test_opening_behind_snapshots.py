"""Opening reads what the newest snapshot doesn't hold, whatever the size of the log below it, and
what it makes of that is what reading all would have made."""

from __future__ import annotations

import os
from copy import deepcopy
from pathlib import Path
from random import Random

import pytest

from replica.errors import CorruptDataError
from replica.format.file_names import FileKind
from replica.model.epochs import OffsetAndEpoch
from replica.model.stored import LogFacts
from replica.simulate.disk import SimulatedDisk
from replica.storage.filesystem import LocalDisk
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig, scan_segment
from replica.storage.segment_files import SegmentFiles
from tests.replica.storage.content import batch, leader_change

FOLDER = "__cluster_metadata-0"
KIB = 1024


def opened(folder: Path, **settings: int) -> FileLog:
    return open_log(LocalDisk(), str(folder), LogConfig(**settings))


def written(folder: Path, count: int, size: int, **settings: int) -> FileLog:
    """`count` batches of `size` bytes, a new epoch every hundred, a snapshot ten before the end."""
    log = opened(folder, **settings)
    for number in range(count):
        epoch = number // 100 + 1
        is_first = number % 100 == 0
        log.append(
            [leader_change(number, epoch) if is_first else batch(number, epoch=epoch, size=size)]
        )
        if number % 50 == 0:
            log.flush()
    end = count - 10
    log.snapshots.write(OffsetAndEpoch(end, (end - 1) // 100 + 1), 1, ()).freeze()
    return log


def bytes_read_by_opening(folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: int) -> int:
    """By the opening, and by asking for the facts."""
    reads: list[int] = []
    pread = os.pread

    def counted(handle: int, size: int, position: int) -> bytes:
        data = pread(handle, size, position)
        reads.append(len(data))
        return data

    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", counted)
        log = opened(folder, **settings)
        log.facts()
    log.close()
    return sum(reads)


@pytest.mark.parametrize("segment_bytes", [64 * KIB, 2**30])
def test_the_bytes_read_by_opening_do_not_grow_with_the_log_below_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segment_bytes: int
) -> None:
    read = []
    for count in (400, 4000):
        folder = tmp_path / str(count)
        written(folder, count, KIB, segment_bytes=segment_bytes).close()
        read.append(bytes_read_by_opening(folder, monkeypatch, segment_bytes=segment_bytes))
    small, large = read
    # 3.6 MB more of log; its index entries, of 8 and 12 bytes for every 4 KiB, are read
    assert large - small < 60 * KIB


def random_log(disk: SimulatedDisk, random: Random) -> tuple[LogConfig, OffsetAndEpoch]:
    """Any log with a snapshot; closed in order, or left as a crash leaves it."""
    config = LogConfig(random.choice((3000, 2**30)), index_interval_bytes=200)
    disk.make_directory(FOLDER)
    count, epoch = random.randint(2, 150), 1
    log = open_log(disk, FOLDER, config)
    for number in range(count):
        if random.random() < 0.1:
            epoch += random.randint(1, 2)
            log.append([leader_change(number, epoch)])
        else:
            log.append([batch(number, epoch=epoch, size=random.randint(1, 300))])
        if random.random() < 0.3:
            log.flush()
    end = random.randint(1, count)
    in_force = max(entry.epoch for entry in log.facts().epochs if entry.start_offset < end)
    snapshot_id = OffsetAndEpoch(end, in_force)
    log.snapshots.write(snapshot_id, 1, ()).freeze()
    log.flush()
    if random.random() < 0.5:
        log.close()
    return config, snapshot_id


def newest(disk: SimulatedDisk) -> int:
    return max(int(name[:20]) for name in disk.names(FOLDER) if name.endswith(".log"))


@pytest.mark.parametrize("seed", range(60))
def test_opening_from_the_snapshot_on_gives_the_same_log_as_reading_everything(seed: int) -> None:
    random = Random(seed)
    part = SimulatedDisk(Random(1))
    config, _ = random_log(part, random)
    whole = deepcopy(part)
    for kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX):  # without them all is read
        whole.remove(SegmentFiles(whole, FOLDER, newest(whole)).path(kind))
    appended = [random.randint(1, 300) for _ in range(20)]
    facts = [carried_on(disk, appended, config) for disk in (part, whole)]
    assert facts[0] == facts[1]
    assert contents(part) == contents(whole)


def carried_on(disk: SimulatedDisk, appended: list[int], config: LogConfig) -> LogFacts:
    """What the log says after opening, with some more batches at its end."""
    log = open_log(disk, FOLDER, config)
    facts = log.facts()
    epoch = facts.epochs[-1].epoch
    for size in appended:
        log.append([batch(log.log_end, epoch=epoch, size=size)])
        log.flush()
    log.close()
    return facts


def contents(disk: SimulatedDisk) -> dict[str, bytes]:
    return {name: disk.content(f"{FOLDER}/{name}") for name in disk.names(FOLDER)}


def test_of_most_such_logs_a_part_is_left_out() -> None:
    left_out = 0
    for seed in range(60):
        disk = SimulatedDisk(Random(1))
        config, snapshot_id = random_log(disk, Random(seed))
        scanned = scan_segment(
            SegmentFiles(disk, FOLDER, newest(disk)), config, covered=snapshot_id.offset
        )
        if scanned.trusted is not None:
            assert scanned.segment.base_offset < scanned.read_from <= snapshot_id.offset
            left_out += 1
    assert left_out > 20


@pytest.mark.parametrize("wrong", [None, b"0\n1\n1 0\n"])
def test_without_a_checkpoint_that_fits_all_is_read(tmp_path: Path, wrong: bytes | None) -> None:
    folder = tmp_path / FOLDER
    written(folder, 400, 100).close()
    expected = opened(folder).facts()
    path = folder / "leader-epoch-checkpoint"
    path.unlink() if wrong is None else path.write_bytes(wrong)
    assert opened(folder).facts() == expected
    assert len(expected.epochs) == 4


def test_damage_that_was_not_looked_at_is_found_by_reading(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    written(folder, 400, KIB).close()
    with (folder / f"{0:020}.log").open("r+b") as file:
        file.seek(5000)
        file.write(b"damage")
    log = opened(folder)
    assert log.log_end == 400
    with pytest.raises(CorruptDataError, match=r"\.log: byte "):
        log.read(0, KIB * KIB)
    assert [b.base_offset for b in log.batches(390, 400)] == list(range(390, 400))
