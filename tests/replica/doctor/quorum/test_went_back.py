"""A disk that shows less than before is named, and one that Raft truncated is not."""

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given

from replica.doctor.quorum.known_quorum import QuorumFiles, known_quorum
from replica.doctor.quorum.known_voter import VoterDoubt
from replica.doctor.quorum.went_back import ComparedRound, each_once, went_back
from replica.history.commitment import classify_compared, compare_group
from replica.history.log import OffsetRange
from replica.model.epochs import OffsetAndEpoch
from tests.replica.doctor.quorum.test_known_quorum import ONE, THREE, TWO, doubts, log
from tests.replica.history.test_random_histories import QUICK, SEEDS, model_of


def look(*logs):
    group = compare_group(logs)
    return ComparedRound(group, classify_compared(group))


def test_what_several_earlier_moments_show_counts_together():
    now = log(ONE, 1, quorum_epoch=1), log(TWO, 1, 1, 2)
    longer, later = (log(ONE, 1, 1, quorum_epoch=2), now[1]), (log(ONE, 1, quorum_epoch=5), now[1])
    rounds = [look(*longer), look(*later)]
    for order in (rounds, rounds[::-1]):
        (found,) = each_once(one for each in order for one in went_back(each, look(*now))).values()
        assert (found.end_before, found.end) == (2, 1)
        assert (found.epoch_before, found.epoch) == (5, 1)
        assert found.lacks_acknowledged


def between(before, now):
    return {one.key: one for one in went_back(look(*before), look(*now))}


BEFORE = (log(ONE, 1, 1, 2), log(TWO, 1, 1, 2), log(THREE, 1, 1))


@pytest.mark.parametrize(
    ("now", "lost"),
    [
        (log(ONE, 1, 1, quorum_epoch=2), (OffsetRange(2, 3),)),
        (log(ONE, quorum_epoch=2), (OffsetRange(0, 3),)),
        (log(ONE, 1, quorum_epoch=1), (OffsetRange(1, 3),)),
        (log(ONE, 1, 1, quorum_epoch=5), (OffsetRange(2, 3),)),
    ],
)
def test_a_voter_without_records_that_a_majority_held_went_back(now, lost):
    found = between(BEFORE, (now, *BEFORE[1:]))
    assert found.keys() == {ONE}
    assert (found[ONE].end_before, found[ONE].end, found[ONE].lost) == (3, now.end_offset, lost)
    assert str(found[ONE]) == (
        f"its log end offset was 3 in an earlier capture, and is {now.end_offset} now"
    )


def test_an_epoch_that_a_disk_forgot_shows_that_it_went_back():
    found = between((log(ONE, 1, quorum_epoch=4),), (log(ONE, 1, quorum_epoch=3),))
    assert str(found[ONE]) == (
        "its directory knew epoch 4 in an earlier capture, and knows epoch 3 now"
    )


@pytest.mark.parametrize(
    "now",
    [
        log(THREE, 1, 1, 2),
        log(THREE, 1, quorum_epoch=2),
        log(THREE, 1, 3),
        log(THREE, 1, 1, 1, 1, quorum_epoch=1),
    ],
)
def test_what_no_majority_held_may_be_truncated(now):
    """As by the leader of another epoch, or by a power cut before a flush."""
    before = (log(ONE, 1), log(TWO, 1), log(THREE, 1, 1))
    assert between(before, (log(ONE, 1), log(TWO, 1), now)) == {}


@pytest.mark.parametrize(
    ("unsynced_from", "now", "lost"),
    [
        (0, log(TWO, 1, quorum_epoch=2), ()),
        (1, log(TWO, 1, quorum_epoch=2), ()),
        (1, log(TWO, quorum_epoch=2), (OffsetRange(0, 1),)),
        (2, log(TWO, quorum_epoch=2), (OffsetRange(0, 2),)),
    ],
)
def test_what_stood_behind_zeros_of_a_power_cut_was_never_held_for_good(unsynced_from, now, lost):
    """It was never synced, so the replica may not have acknowledged it: others committed it without
    this replica, whose next start cuts it off."""
    others = log(ONE, 1, 1, 2), log(THREE, 1, 1, 2)
    cut = replace(log(TWO, 1, 1, 2), unsynced_from=unsynced_from)
    found = between((*others, cut), (*others, now))
    assert [one.lost for one in found.values()] == [lost] * bool(lost)


def test_records_that_a_snapshot_holds_are_not_lost():
    now = log(ONE, quorum_epoch=2, snapshots=(OffsetAndEpoch(3, 2),))
    assert between(BEFORE, (now, *BEFORE[1:])) == {}


def test_what_the_later_look_alone_proves_counts_too():
    before = (log(ONE, 1, 1),)
    now = (log(ONE, 1), log(TWO, 1, 1), log(THREE, 1, 1))
    assert between(before, now).keys() == {ONE}


def test_no_majority_counts_a_voter_that_went_back():
    now = (log(ONE, 1, 1, 2), log(TWO, 1, quorum_epoch=2))
    group = compare_group(now)
    back = {one.key: one for one in went_back(look(*BEFORE), look(*now))}
    quorum = known_quorum(group, classify_compared(group), QuorumFiles(went_back=back))
    assert doubts(quorum) == {1: None, 2: VoterDoubt.STALE, 3: VoterDoubt.NOT_GIVEN}
    assert not quorum.has_majority
    (stale,) = quorum.in_doubt(VoterDoubt.STALE)
    assert stale.why_stale == str(back[TWO])
    assert stale.held_end is None, "it may have held all of it"


@QUICK
@given(SEEDS)
def test_no_replica_of_a_quorum_that_keeps_its_disks_goes_back(seed):
    model = model_of(seed)
    before = [model.capture(node) for node in model.nodes.values()]
    model.run(random.Random(seed + 2).randint(1, 100))
    now = [model.capture(node) for node in model.nodes.values()]
    assert between(before, now) == {}


@QUICK
@given(SEEDS)
def test_an_older_disk_is_named_if_its_epoch_or_committed_records_fell(seed):
    model = model_of(seed)
    old = {log.key: log for log in map(model.capture, model.nodes.values())}
    model.run(random.Random(seed + 2).randint(1, 100))
    before = [model.capture(node) for node in model.nodes.values()]
    now = [old[log.key] if number == 0 else log for number, log in enumerate(before)]
    mine, theirs = before[0], now[0]
    fell = theirs.known_epoch is not None and theirs.known_epoch < mine.known_epoch
    assume(fell)
    assert between(before, now).keys() == {mine.key}
