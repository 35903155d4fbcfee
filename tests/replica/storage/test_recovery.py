"""What opening makes of a directory that a crash, or a hand, left behind."""

from __future__ import annotations

import pytest

from replica.errors import CorruptDataError, DataError
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.storage.log import FileLog
from replica.storage.recovery import ADVICE
from tests.replica.scan.damaging import with_right_crc
from tests.replica.storage.conftest import Place
from tests.replica.storage.content import batch, batches, leader_change, offsets, on_disk

LOG = "00000000000000000000.log"
INDEX = "00000000000000000000.index"
TIMES = "00000000000000000000.timeindex"


def made(place: Place, count: int = 12, **settings: int) -> FileLog:
    """A log of `count` batches, flushed and closed; epochs 1, 2, ... of four batches each."""
    log = place.open(**settings)
    log.append([batch(n, epoch=n // 4 + 1) for n in range(count)])
    log.flush()
    log.close()
    return log


def snapshot_at(log: FileLog, offset: int, epoch: int) -> OffsetAndEpoch:
    snapshot_id = OffsetAndEpoch(offset, epoch)
    log.snapshots.write(snapshot_id, 7, ()).freeze()
    return snapshot_id


def torn(place: Place, name: str = LOG, by: int = 10) -> int:
    """Cut the last bytes of a file; returns the size left."""
    data = place.content(name)
    place.put(name, data[:-by])
    return len(data) - by


@pytest.mark.scenario("I13")
def test_a_torn_last_batch_is_cut_and_said(place: Place) -> None:
    made(place)
    left = torn(place)
    good = (left + 10) // 12 * 11
    log = place.open()
    assert log.log_end == 11
    assert log.facts().epochs[-1] == EpochStart(3, 8)
    (said,) = log.repairs
    assert f"/{LOG}: byte {good}: {left - good} bytes cut, a torn end: " in said
    assert log.append([batch(11, epoch=3)]) == 12


def test_every_torn_length_leaves_the_batches_before(place: Place) -> None:
    made(place, count=2)
    data = place.content(LOG)
    for size in range(len(data) // 2, len(data)):
        place.put(LOG, data[:size])
        log = place.open()
        assert (log.log_end, len(place.content(LOG))) == (1, len(data) // 2)
        log.close()


def test_zeros_where_a_write_was_lost_are_cut(place: Place) -> None:
    made(place)
    place.put(LOG, place.content(LOG) + bytes(500))
    log = place.open()
    assert log.log_end == 12
    assert "500 bytes cut" in log.repairs[0]


def test_a_lost_write_before_a_surviving_one_ends_the_log(place: Place) -> None:
    made(place)
    data = place.content(LOG)
    size = len(data) // 12
    place.put(LOG, data[: 6 * size] + bytes(size) + data[7 * size :])
    log = place.open()
    assert log.log_end == 6
    assert [entry.epoch for entry in log.facts().epochs] == [1, 2]


def test_a_log_broken_below_what_was_synced_is_refused(place: Place) -> None:
    made(place, index_interval_bytes=100)
    data = bytearray(place.content(LOG))
    data[200] ^= 1
    place.put(LOG, bytes(data))
    before = {name: place.content(name) for name in place.names()}
    with pytest.raises(CorruptDataError) as refused:
        place.open(index_interval_bytes=100)
    size = len(data) // 12
    assert f"/{LOG}: byte {200 // size * size}: " in str(refused.value)
    assert "was synced once" in str(refused.value)
    assert ADVICE in str(refused.value)
    assert {name: place.content(name) for name in place.names()} == before


def test_a_log_that_lost_its_synced_end_is_refused(place: Place) -> None:
    made(place, index_interval_bytes=100)
    data = place.content(LOG)
    place.put(LOG, data[: len(data) // 2])
    with pytest.raises(CorruptDataError, match="the file ends, yet all below offset"):
        place.open(index_interval_bytes=100)


@pytest.mark.parametrize("behind", [0, 3])
def test_a_control_batch_that_no_crash_has_damaged_is_refused_and_nothing_is_cut(
    place: Place, behind: int
) -> None:
    odd = bytearray(on_disk([leader_change(2, epoch=2)]))
    odd[-2] = 0x7F
    sound = on_disk(batches(0, 2))
    data = sound + with_right_crc(bytes(odd)) + on_disk(batches(3, behind, epoch=2))
    place.put(LOG, data)
    with pytest.raises(DataError) as refused:
        place.open()
    assert f"/{LOG}: byte " in str(refused.value)
    assert refused.value.position is not None
    assert refused.value.position >= len(sound)
    assert ADVICE in str(refused.value)
    assert place.content(LOG) == data


def test_the_preallocated_index_of_a_running_kafka_says_nothing_of_syncs(place: Place) -> None:
    made(place, index_interval_bytes=100)
    place.put(INDEX, place.content(INDEX) + bytes(1024))
    torn(place, by=300)
    log = place.open(index_interval_bytes=100)
    assert log.log_end < 12
    assert len(place.content(INDEX)) % 8 == 0
    assert len(place.content(INDEX)) < 1024


def test_a_damage_below_a_snapshots_end_is_refused_if_the_log_went_on_above_it(
    place: Place,
) -> None:
    log = made(place)
    snapshot_at(log, 8, 2)
    data = bytearray(place.content(LOG))
    data[200] ^= 1
    place.put(LOG, bytes(data))
    with pytest.raises(CorruptDataError, match="below the end of snapshot 8, and the batch at"):
        place.open()


@pytest.mark.scenario("G26")
def test_a_log_that_ends_below_a_newer_snapshot_restarts_there(place: Place) -> None:
    log = made(place)
    newer = snapshot_at(log, 40, 4)
    log = place.open()
    facts = log.facts()
    assert (facts.log_start, facts.log_end, facts.epochs) == (40, 40, ())
    assert [s.snapshot_id for s in facts.snapshots] == [newer]
    assert "restarts at its newer snapshot 40-4" in log.repairs[0]
    assert place.open().facts() == facts


def test_a_torn_log_below_a_newer_snapshot_restarts_there(place: Place) -> None:
    log = made(place)
    snapshot_at(log, 40, 4)
    torn(place)
    assert place.open().log_end == 40


def test_a_snapshot_beyond_the_log_of_an_older_epoch_is_refused(place: Place) -> None:
    log = made(place)
    snapshot_at(log, 40, 2)
    with pytest.raises(CorruptDataError, match="ends at offset 12 of epoch 3, its snapshot at 40"):
        place.open()


@pytest.mark.scenario("G28")
def test_a_log_that_starts_above_zero_needs_a_snapshot_there(place: Place) -> None:
    log = place.open(segment_bytes=300)
    log.append(batches(0, 20))
    snapshot_id = snapshot_at(log, 9, 1)
    log.advance_log_start(9)
    log.close()
    name = f"{place.folder}/{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}.checkpoint"
    place.files.rename(name, f"{name}.deleted")
    with pytest.raises(CorruptDataError, match="no snapshot ends at or above the log start"):
        place.open(segment_bytes=300)
    assert any(n.endswith(".checkpoint.deleted") for n in place.names())


@pytest.mark.scenario("G27")
@pytest.mark.parametrize(
    ("snapshots", "start"), [([], None), ([5], None), ([9], 9), ([5, 9], 9), ([9, 50], 50)]
)
def test_a_log_whose_segments_start_above_zero_opens_at_a_snapshot_or_not_at_all(
    place: Place, snapshots: list[int], start: int | None
) -> None:
    log = place.open()
    log.reset_to(snapshot_at(log, 9, 1))
    log.append(batches(9, 10))
    log.flush()
    log.close()
    place.files.remove(f"{place.folder}/{9:020d}-{1:010d}.checkpoint")
    for offset in snapshots:
        snapshot_at(log, offset, 1)
    if start is None:
        with pytest.raises(CorruptDataError, match="no snapshot ends at or above the log start"):
            place.open()
    else:
        assert place.open().log_start == start


def test_snapshots_below_the_log_start_go(place: Place) -> None:
    log = made(place)
    older, newer = snapshot_at(log, 4, 1), snapshot_at(log, 8, 2)
    log = place.open()
    log.advance_log_start(8)
    again = place.open()
    assert newer in again.snapshots
    assert older not in again.snapshots
    assert again.log_start == 8


@pytest.mark.scenario("G29")
def test_leftovers_of_a_crash_are_removed_and_the_rest_is_kept(place: Place) -> None:
    log = made(place)
    complete = snapshot_at(log, 8, 2)
    leftovers = (
        "00000000000000000008-0000000002-77.checkpoint.part",
        "00000000000000000004-0000000001.checkpoint.deleted",
        "00000000000000000004.log.deleted",
        "00000000000000000004.index.deleted",
        "00000000000000000000.log.cleaned",
        "00000000000000000099.index",
        "quorum-state.tmp",
    )
    for name in leftovers:
        place.put(name, b"x")
    place.put("notes.txt", b"somebody's own")
    log = place.open()
    assert not set(leftovers) & set(place.names())
    assert "notes.txt" in place.names()
    assert complete in log.snapshots
    assert len(log.repairs) == len(leftovers)


@pytest.mark.parametrize(
    "content", [None, b"", b"0\n3\n1 0\n", b"0\n1\n9 0\n", b"0\n2\n2 4\n1 0\n"]
)
def test_a_lost_or_wrong_checkpoint_is_made_anew_from_the_batches(
    place: Place, content: bytes | None
) -> None:
    log = made(place, segment_bytes=300)
    if content is None:
        place.files.remove(f"{place.folder}/leader-epoch-checkpoint")
    else:
        place.put("leader-epoch-checkpoint", content)
    again = place.open(segment_bytes=300)
    assert again.facts().epochs == log.facts().epochs
    assert place.content("leader-epoch-checkpoint") == b"0\n3\n1 0\n2 4\n3 8\n"


def test_a_checkpoint_that_is_ahead_of_the_log_claims_no_epoch_without_a_record(
    place: Place,
) -> None:
    made(place, count=8, segment_bytes=300)  # it was saved, the first batch of epoch 3 was lost
    last = max(name for name in place.names() if name.endswith(".log"))
    place.put(last, b"")
    place.put("leader-epoch-checkpoint", f"0\n3\n1 0\n2 4\n3 {int(last[:20])}\n".encode())
    log = place.open(segment_bytes=300)
    assert log.log_end == int(last[:20])
    assert log.facts().epochs == (EpochStart(1, 0), EpochStart(2, 4))


@pytest.mark.parametrize("name", [INDEX, TIMES])
@pytest.mark.parametrize("segment_bytes", [300, 10**6])
def test_a_lost_index_is_made_anew(place: Place, name: str, segment_bytes: int) -> None:
    settings = {"segment_bytes": segment_bytes, "index_interval_bytes": 100}
    made(place, **settings)
    content = place.content(name)
    place.files.remove(f"{place.folder}/{name}")
    log = place.open(**settings)
    assert place.content(name) == content
    assert offsets(log.read(0, 10**6)) == list(range(len(offsets(log.read(0, 10**6)))))


def test_a_wrong_index_of_a_closed_segment_is_made_anew(place: Place) -> None:
    settings = {"segment_bytes": 600, "index_interval_bytes": 100}
    made(place, **settings)
    content = place.content(INDEX)
    place.put(INDEX, content[:-1] + b"\x99")
    log = place.open(**settings)
    assert place.content(INDEX) == content
    assert "indexes of segment 0 made anew" in log.repairs[0]


def test_a_missing_segment_in_the_middle_is_refused(place: Place) -> None:
    made(place, segment_bytes=300)
    names = [name for name in place.names() if name.endswith(".log")]
    place.files.remove(f"{place.folder}/{names[1]}")
    with pytest.raises(CorruptDataError) as refused:
        place.open(segment_bytes=300)
    assert f"{names[0]}: byte {len(place.content(names[0]))}: ends at offset" in str(refused.value)
    assert str(refused.value).endswith(ADVICE)


def test_a_damaged_end_of_a_closed_segment_is_refused(place: Place) -> None:
    made(place, segment_bytes=300)
    torn(place)
    with pytest.raises(DataError, match=f"{LOG}: byte .*{ADVICE}"):
        place.open(segment_bytes=300)


def test_opening_reads_no_older_segment_and_reading_finds_its_rot(place: Place) -> None:
    settings = {"segment_bytes": 600, "index_interval_bytes": 100}
    made(place, **settings)
    data = bytearray(place.content(LOG))
    data[100] ^= 1  # in the second batch, far before the last entry of the index
    place.put(LOG, bytes(data))
    log = place.open(**settings)
    assert (log.log_end, log.repairs) == (12, [])
    with pytest.raises(CorruptDataError, match=rf"/{LOG}: byte \d+: batch 1-1: .*CRC"):
        log.read(1, 100)


def test_segments_that_vanished_altogether_are_refused(place: Place) -> None:
    log = made(place)
    for name in (LOG, INDEX, TIMES):
        place.files.remove(f"{place.folder}/{name}")
    with pytest.raises(CorruptDataError, match="segments are gone"):
        place.open()
    snapshot_at(log, 4, 1)  # the checkpoint knows that the log went on above it
    with pytest.raises(CorruptDataError, match="segments are gone"):
        place.open()


def test_a_hole_below_the_log_start_is_a_crash_leftover_and_is_removed(place: Place) -> None:
    log = place.open(segment_bytes=300)
    log.append(batches(0, 20))
    log.flush()
    bases = [int(name[:20]) for name in place.names() if name.endswith(".log")]
    kept = {f"{base:020d}.{kind}" for base in bases[:1] for kind in ("log", "index", "timeindex")}
    contents = {name: place.content(name) for name in kept}
    snapshot_at(log, bases[3], 1)
    log.advance_log_start(bases[3])
    log.close()
    for name, content in contents.items():
        place.put(name, content)
    again = place.open(segment_bytes=300)
    assert again.log_start == bases[3]
    assert not kept & set(place.names())
    assert offsets(again.read(bases[3], 1)) == [bases[3]]


def test_an_unreadable_snapshot_header_is_refused_with_file_and_byte(place: Place) -> None:
    made(place)
    name = "00000000000000000008-0000000002.checkpoint"
    place.put(name, on_disk([batch(0)]))
    with pytest.raises(CorruptDataError, match=f"{name}: byte 0: .*snapshot header"):
        place.open()


def test_opening_twice_changes_nothing(place: Place) -> None:
    made(place, segment_bytes=300, index_interval_bytes=100)
    before = {name: place.content(name) for name in place.names()}
    for _ in range(2):
        log = place.open(segment_bytes=300, index_interval_bytes=100)
        assert log.repairs == []
        log.close()
    assert {name: place.content(name) for name in place.names()} == before
