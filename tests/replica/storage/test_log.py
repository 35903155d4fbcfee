"""Appending, reading and truncating the log, on the real disk and on the simulated one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.errors import CorruptDataError
from replica.history.epochs import kraft_end_offset_for
from replica.model.batch import Batch
from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.keys import ReplicaKey
from replica.model.voters import Voter, VoterSet
from replica.storage.batches import batches_of
from replica.storage.log import FileLog
from tests.replica.storage.conftest import Place
from tests.replica.storage.content import batch, batches, leader_change, offsets, on_disk

VOTER = Voter(ReplicaKey(1, "qufyMfPsTZ27gBxKC_Me3w"))


def snapshot_at(log: FileLog, offset: int, epoch: int) -> OffsetAndEpoch:
    snapshot_id = OffsetAndEpoch(offset, epoch)
    log.snapshots.write(snapshot_id, 7, ()).freeze()
    return snapshot_id


def everything(log: FileLog) -> bytes:
    found, offset = b"", log.log_start
    while data := log.read(offset, 10**6):
        found += data
        offset = batches_of(data, offset)[-1].end_offset
    return found


def test_a_new_log_is_empty_and_begins_at_zero(place: Place) -> None:
    log = place.open()
    facts = log.facts()
    assert (facts.log_start, facts.log_end, facts.epochs, facts.snapshots) == (0, 0, (), ())
    assert log.read(0, 100) == b""


def test_flushed_batches_are_in_the_log_after_it_is_opened_again(place: Place) -> None:
    log = place.open()
    written = [leader_change(0, epoch=3), *batches(1, 5, epoch=3)]
    assert log.append(written) == 6
    assert log.flush() == 6
    log.close()
    again = place.open()
    assert everything(again) == on_disk(written)
    assert again.facts() == log.facts()
    assert again.repairs == []


def test_a_leaders_batch_is_stamped_with_offset_and_epoch(place: Place) -> None:
    log = place.open()
    proposed = replace(batch(0, records=2, epoch=0), epoch=4)
    log.append([proposed, replace(proposed, base_offset=2, last_offset=3, epoch=5)])
    found = batches_of(everything(log), 0)
    assert [(b.base_offset, b.last_offset, b.epoch) for b in found] == [(0, 1, 4), (2, 3, 5)]


def test_a_followers_batches_lie_on_disk_as_they_were_fetched(place: Place) -> None:
    fetched = on_disk([leader_change(0, epoch=1), *batches(1, 3)])
    log = place.open()
    log.append(batches_of(fetched, 0))
    log.close()
    assert place.content("00000000000000000000.log") == fetched


@pytest.mark.scenario("B26")
@pytest.mark.parametrize("base", [0, 2, 4])
def test_a_batch_that_does_not_start_at_the_log_end_is_the_hosts_bug(
    place: Place, base: int
) -> None:
    log = place.open()
    log.append(batches(0, 3))
    with pytest.raises(AssertionError, match="starts at the log end"):
        log.append([batch(base)])


def test_nothing_is_appended_where_a_later_batch_does_not_follow(place: Place) -> None:
    log = place.open()
    with pytest.raises(AssertionError, match="starts at the log end"):
        log.append([batch(0), batch(2)])
    assert log.log_end == 0


def test_an_epoch_never_goes_back(place: Place) -> None:
    log = place.open()
    log.append([batch(0, epoch=3)])
    with pytest.raises(AssertionError, match="epoch never goes back"):
        log.append([batch(1, epoch=2)])


def test_a_batch_with_a_wrong_crc_is_not_appended_nor_are_those_before_it(place: Place) -> None:
    log = place.open()
    bad = batch(1)
    broken = replace(bad, data=bad.data[:-1] + bytes([bad.data[-1] ^ 1]))
    with pytest.raises(CorruptDataError, match="CRC"):
        log.append([batch(0), broken])
    assert log.log_end == 0
    assert log.append([batch(0)]) == 1


def test_data_that_is_not_one_whole_batch_is_not_appended(place: Place) -> None:
    log = place.open()
    with pytest.raises(CorruptDataError, match="not one whole batch"):
        log.append([replace(batch(0), data=on_disk(batches(0, 2)))])
    with pytest.raises(CorruptDataError, match="not one whole batch"):
        log.append([replace(batch(0), data=batch(0).data[:-1])])


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(place: Place) -> None:
    log = place.open(segment_bytes=200)
    log.append([batch(0), batch(1, size=5000), batch(2)])
    assert [n for n in place.names() if n.endswith(".log")] == [
        "00000000000000000000.log",
        "00000000000000000001.log",
        "00000000000000000002.log",
    ]


def test_a_segment_rolls_when_its_first_batch_is_too_old_for_the_next(place: Place) -> None:
    log = place.open(segment_ms=5)
    log.append(batches(0, 12))  # a ms apart
    bases = [int(n[:20]) for n in place.names() if n.endswith(".log")]
    assert bases == [0, 6]


def test_a_segment_rolls_when_an_index_is_full(place: Place) -> None:
    log = place.open(index_interval_bytes=1, max_index_bytes=64)
    log.append(batches(0, 20))
    assert len([n for n in place.names() if n.endswith(".log")]) > 2
    assert offsets(everything(log)) == list(range(20))


def test_the_epoch_cache_follows_the_batches(place: Place) -> None:
    log = place.open()
    log.append([batch(0, epoch=1), batch(1, epoch=1), batch(2, epoch=4), batch(3, epoch=6)])
    assert log.facts().epochs == (EpochStart(1, 0), EpochStart(4, 2), EpochStart(6, 3))
    log.flush()
    assert place.content("leader-epoch-checkpoint") == b"0\n3\n1 0\n4 2\n6 3\n"


@pytest.mark.scenario("A27")
def test_the_checkpoint_holds_only_the_epochs_that_survive_cuts_at_both_ends(
    place: Place,
) -> None:
    log = place.open()
    log.append([batch(n, epoch=n // 2 + 1) for n in range(10)])
    log.flush()
    snapshot_at(log, 3, 2)
    log.advance_log_start(3)
    log.truncate_to(6)
    assert place.content("leader-epoch-checkpoint") == b"0\n2\n2 3\n3 4\n"


@pytest.mark.scenario("A26")
def test_epochs_are_the_same_after_opening_again(place: Place) -> None:
    log = place.open(segment_bytes=200)
    log.append([batch(n, epoch=n // 2 + 1) for n in range(10)])
    log.close()
    assert place.open(segment_bytes=200).facts().epochs == log.facts().epochs


@pytest.mark.scenario("B19")
def test_truncation_inside_a_batch_takes_the_whole_batch(place: Place) -> None:
    log = place.open()
    log.append([batch(0, records=2), batch(2)])
    assert log.truncate_to(1) == 0
    assert log.read(0, 100) == b""


@pytest.mark.parametrize("segment_bytes", [10**6, 300, 100])
@pytest.mark.parametrize("end", [0, 1, 4, 5, 11])
def test_a_truncated_log_ends_there_and_takes_other_records(
    place: Place, segment_bytes: int, end: int
) -> None:
    log = place.open(segment_bytes=segment_bytes)
    first = [batch(n, epoch=n // 4 + 1) for n in range(12)]
    log.append(first)
    assert log.truncate_to(end) == end
    other = batches(end, 3, epoch=9)
    log.append(other)
    expected = on_disk([*first[:end], *other])
    assert everything(log) == expected
    log.close()
    again = place.open(segment_bytes=segment_bytes)
    assert everything(again) == expected
    assert again.facts() == log.facts()
    assert again.repairs == []


def test_truncating_at_or_above_the_log_end_changes_nothing(place: Place) -> None:
    log = place.open()
    log.append(batches(0, 3))
    assert log.truncate_to(3) == 3
    assert log.truncate_to(8) == 3


@pytest.mark.scenario("B18")
def test_truncation_below_the_log_start_is_refused(place: Place) -> None:
    log = place.open()
    log.append(batches(0, 10))
    snapshot_at(log, 5, 1)
    log.advance_log_start(5)
    with pytest.raises(AssertionError, match="committed"):
        log.truncate_to(4)
    assert log.log_end == 10


def test_segments_below_the_log_start_go_and_the_start_is_kept(place: Place) -> None:
    log = place.open(segment_bytes=300)
    log.append(batches(0, 20))
    log.flush()
    snapshot_at(log, 9, 1)
    log.advance_log_start(9)
    bases = [int(n[:20]) for n in place.names() if n.endswith(".log")]
    assert bases[0] <= 9 < bases[1]
    again = place.open(segment_bytes=300)
    assert again.log_start == 9
    assert offsets(everything(again)) == list(range(9, 20))


def test_a_log_start_at_the_log_end_leaves_an_empty_log_that_begins_there(place: Place) -> None:
    log = place.open()
    log.append(batches(0, 5))
    snapshot_at(log, 5, 1)
    log.advance_log_start(5)
    assert [n for n in place.names() if n.endswith(".log")] == ["00000000000000000005.log"]
    log.close()
    again = place.open()
    assert (again.log_start, again.log_end) == (5, 5)
    assert again.append([batch(5)]) == 6


def test_a_log_start_is_the_end_of_a_snapshot(place: Place) -> None:
    log = place.open()
    log.append(batches(0, 5))
    with pytest.raises(AssertionError, match="where a snapshot ends"):
        log.advance_log_start(3)


@pytest.mark.scenario("G24")
def test_a_log_restarts_at_a_newer_snapshot(place: Place) -> None:
    log = place.open(segment_bytes=300)
    log.append(batches(0, 10))
    older, newer = snapshot_at(log, 4, 1), snapshot_at(log, 20, 2)
    log.reset_to(newer)
    facts = log.facts()
    assert (facts.log_start, facts.log_end, facts.epochs) == (20, 20, ())
    assert [s.snapshot_id for s in facts.snapshots] == [newer]
    assert older not in log.snapshots
    assert log.append([batch(20, epoch=3)]) == 21
    log.close()
    assert place.open(segment_bytes=300).facts() == log.facts()


@pytest.mark.scenario("G25")
@pytest.mark.parametrize("snapshot", [(5, 2), (10, 2), (20, 1)])
def test_a_snapshot_that_is_not_newer_takes_no_logs_place(
    place: Place, snapshot: tuple[int, int]
) -> None:
    log = place.open()
    log.append(batches(0, 10, epoch=2))
    snapshot_id = snapshot_at(log, *snapshot)
    with pytest.raises(AssertionError, match="newer"):
        log.reset_to(snapshot_id)
    assert log.log_end == 10


def test_control_batches_are_found_wherever_they_lie(place: Place) -> None:
    voters = KRaftVoters(VoterSet((VOTER,)))
    log = place.open(segment_bytes=300)
    first = leader_change(0, epoch=1)
    second = Batch(1, 2, 1, 5, (KRaftVersion(1), voters))
    third = leader_change(9, epoch=2)
    log.append([first, second, *batches(3, 6), third, *batches(10, 5, epoch=2)])
    log.close()

    def control(found: FileLog) -> list[tuple[int, object]]:
        return [(b.base_offset, b.control) for b in found.facts().control_batches]

    again = place.open(segment_bytes=300)
    # LEADER_CHANGE of version 0 has no directory ids, and these have none
    expected = [(b.base_offset, b.control) for b in (first, second, third)]
    assert control(log) == control(again) == expected
    again.truncate_to(9)
    assert control(again) == expected[:2]
    again.append([leader_change(9, epoch=5)])
    assert [offset for offset, _ in control(again)] == [0, 1, 9]


def test_batches_come_back_with_their_data(place: Place) -> None:
    log = place.open(segment_bytes=300)
    written = batches(0, 10)
    log.append(written)
    assert list(log.batches(3, 7)) == written[3:7]
    assert list(log.batches(10, 99)) == []


def test_the_size_of_a_log_is_that_of_its_segments(place: Place) -> None:
    log = place.open(segment_bytes=300)
    written = batches(0, 10)
    log.append(written)
    assert log.size_bytes == len(on_disk(written))


@pytest.mark.scenario("A22")
def test_a_log_that_restarted_at_a_snapshot_ends_older_epochs_there(place: Place) -> None:
    log = place.open()
    snapshot_id = snapshot_at(log, 5, 0)
    log.reset_to(snapshot_id)
    log.append([batch(5, epoch=3)])
    log.close()
    facts = place.open().facts()
    found = kraft_end_offset_for(facts.epochs, facts.log_end, facts.snapshots[0].snapshot_id, 0)
    assert found == OffsetAndEpoch(5, 0)
