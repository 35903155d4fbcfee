"""A log with an archive loses nothing: what a truncation or a leader's snapshot takes out of it is
kept beside it, whenever the power goes."""

from __future__ import annotations

from random import Random

import pytest

from replica.format.capture import decode
from replica.format.discovery import discover
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaId
from replica.simulate.disk import PowerLossError, SimulatedDisk
from replica.storage.archive import Archive
from replica.storage.batches import bytes_of
from replica.storage.filesystem import FileSystem, LocalDisk, read_whole
from replica.storage.identity import read_identity, write_identity
from replica.storage.log import FileLog
from replica.storage.recovery import open_log
from replica.storage.segment import LogConfig
from tests.replica.storage.content import batch, batches, on_disk

REPLICA = ReplicaId("Lr3UIdBxT-GFPYE5uprmrg", 900, "4nHfNbFbTIWzYIQBhTuVDA")
PARTITION = "__cluster_metadata-0"
NOW_MS = 1_795_231_128_672
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=150)
SNAPSHOT = OffsetAndEpoch(30, 3)


def archive(files: FileSystem, folder: str, said: list[str] | None = None) -> Archive:
    report = (said if said is not None else []).append
    return Archive(files, f"{folder}/archive", REPLICA, PARTITION, lambda: NOW_MS, report)


def opened(files: FileSystem, folder: str, said: list[str] | None = None) -> FileLog:
    kept = archive(files, folder, said)
    return open_log(files, f"{folder}/{PARTITION}", CONFIG, archive=kept)


def prepared(files: FileSystem, folder: str) -> FileLog:
    for each in (folder, f"{folder}/{PARTITION}", f"{folder}/archive"):
        files.make_directory(each)
    log = opened(files, folder)
    log.append(batches(0, 12, epoch=1))
    log.append([batch(12, records=3, epoch=2), *batches(15, 5, epoch=2)])
    log.flush()
    return log


def content(files: FileSystem, folder: str) -> bytes:
    """All segments of a partition's folder, one after the other."""
    names = [name for name in files.names(folder) if name.endswith(".log")]
    return b"".join(read_whole(files, f"{folder}/{name}", 2**31) for name in names)


@pytest.fixture
def disk() -> SimulatedDisk:
    return SimulatedDisk(Random(1))


def write_snapshot(log: FileLog) -> None:
    """As a leader's, which the log doesn't reach."""
    writer = log.snapshots.write(SNAPSHOT, NOW_MS, ())
    writer.append([b"state"])
    writer.freeze()


def test_truncated_records_are_archived_as_segments(place):
    node = place.folder.rpartition("/")[0]
    place.files.make_directory(f"{node}/archive")
    said: list[str] = []
    log = opened(place.files, node, said)
    written = [*batches(0, 12, epoch=1), batch(12, records=3, epoch=2), *batches(15, 5, epoch=2)]
    log.append(written)

    assert log.truncate_to(13) == 12

    entry = f"{node}/archive/truncated-12-20-epoch-2"
    kept = f"{entry}/{PARTITION}"
    assert content(place.files, kept) == on_disk(written[12:])
    assert content(place.files, place.folder) == on_disk(written[:12])
    for name in place.files.names(kept):
        data = read_whole(place.files, f"{kept}/{name}", 2**20)
        assert int.from_bytes(data[:8], "big") == int(name[:20]) >= 12
    assert said == [f"truncated to offset 12: offsets 12 to 19, up to epoch 2, are kept in {entry}"]


def test_an_entry_says_whose_it_is_and_when_it_was_cut_off(disk):
    prepared(disk, "/n").truncate_to(15)

    entry = "/n/archive/truncated-15-20-epoch-2"
    assert read_identity(disk, entry) == REPLICA
    info = decode(read_whole(disk, f"{entry}/capture.json", 1000))
    assert int(info.captured_at.timestamp() * 1000) == NOW_MS
    assert info.is_fragment


def test_a_truncation_at_the_log_end_keeps_nothing(tmp_path):
    log = prepared(LocalDisk(), f"{tmp_path}/n")

    log.truncate_to(20)

    assert list((tmp_path / "n" / "archive").iterdir()) == []


def test_the_log_that_a_snapshot_replaces_is_kept_whole(disk):
    log = prepared(disk, "/n")
    before = content(disk, f"/n/{PARTITION}")
    write_snapshot(log)

    log.reset_to(SNAPSHOT)

    kept = f"/n/archive/replaced-by-snapshot-30-3/{PARTITION}"
    assert content(disk, kept) == before
    assert "leader-epoch-checkpoint" in disk.names(kept)
    info = decode(read_whole(disk, "/n/archive/replaced-by-snapshot-30-3/capture.json", 1000))
    assert not info.is_fragment
    assert content(disk, f"/n/{PARTITION}") == b""
    assert (log.log_start, log.log_end) == (30, 30)


def test_an_empty_log_leaves_nothing_behind_for_a_snapshot(tmp_path):
    node = f"{tmp_path}/n"
    LocalDisk().make_directory(f"{node}/archive")
    log = opened(LocalDisk(), node)
    write_snapshot(log)

    log.reset_to(SNAPSHOT)

    assert list((tmp_path / "n" / "archive").iterdir()) == []


def test_older_snapshots_are_kept_with_the_log_that_is_replaced(disk):
    log = prepared(disk, "/n")
    older = OffsetAndEpoch(12, 1)
    log.snapshots.write(older, NOW_MS, ()).freeze()
    write_snapshot(log)

    log.reset_to(SNAPSHOT)

    kept = f"/n/archive/replaced-by-snapshot-30-3/{PARTITION}"
    found = [name for name in disk.names(kept) if name.endswith(".checkpoint")]
    assert found == ["00000000000000000012-0000000001.checkpoint"]


@pytest.mark.parametrize("seed", range(8))
def test_no_crash_takes_records_from_both_log_and_archive(seed):
    """Cut the power before or after each call to the disk, while a log is truncated."""
    whole = on_disk([*batches(0, 12, epoch=1), batch(12, 3, 2), *batches(15, 5, epoch=2)])
    for calls in range(200):
        disk = SimulatedDisk(Random(seed))
        log = prepared(disk, "/n")
        disk.power_loss_in(calls)
        try:
            log.truncate_to(13)
        except PowerLossError:
            disk.restart()
        else:
            break
        again = opened(disk, "/n")
        if again.log_end == 20:
            assert content(disk, f"/n/{PARTITION}") == whole
            again.truncate_to(13)
        found = content(disk, f"/n/{PARTITION}")
        kept = content(disk, f"/n/archive/truncated-12-20-epoch-2/{PARTITION}")
        start = len(whole) - len(kept)
        assert kept == whole[start:]
        assert found == whole[: len(found)]
        assert len(found) >= start
    assert 10 < calls < 199


@pytest.mark.parametrize("seed", range(8))
def test_no_crash_takes_records_while_a_snapshot_replaces_the_log(seed):
    for calls in range(400):
        disk = SimulatedDisk(Random(seed))
        log = prepared(disk, "/n")
        whole = content(disk, f"/n/{PARTITION}")
        write_snapshot(log)
        disk.power_loss_in(calls)
        try:
            log.reset_to(SNAPSHOT)
        except PowerLossError:
            disk.restart()
        else:
            break
        again = opened(disk, "/n")
        assert (again.log_start, again.log_end) == (30, 30)
        kept = f"/n/archive/replaced-by-snapshot-30-3/{PARTITION}"
        assert content(disk, kept) == whole
    assert 10 < calls < 399


def test_a_recorders_archive_is_read_only_where_it_is_named(tmp_path):
    node = f"{tmp_path}/recorder"
    files = LocalDisk()
    log = prepared(files, node)
    write_identity(files, node, REPLICA)
    log.truncate_to(15)
    log.close()

    assert [found.shown for found in discover([node])] == [f"{node}/{PARTITION}"]
    (found,) = discover([f"{node}/archive"])
    assert found.shown == f"{node}/archive/truncated-15-20-epoch-2/{PARTITION}"
    assert found.read().replica == REPLICA
    assert bytes_of(batch(15, epoch=2)) in content(files, found.path)
