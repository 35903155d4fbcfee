"""When a replica is told to be wedged, ready and healthy."""

import pytest

from replica.node.heard import Heard
from replica.node.readiness import Readiness, ReplicaSample, Wedge


def look(at, *, leads=False, answered=None, described=None, mark=10, end=10, caught_up=True):
    return at, ReplicaSample(leads, answered, described, mark, end, caught_up)


def wedges(*looks):
    readiness = Readiness(0.0, wedged_after_s=10.0)
    for at, each in looks:
        readiness.take(each, at)
    return set(readiness.wedges())


@pytest.mark.parametrize(
    ("looks", "found"),
    [
        ([look(5)], set()),
        ([look(11)], {Wedge.NO_LEADER}),
        ([look(11, answered=9)], set()),
        ([look(11, described=10)], {Wedge.NOT_FETCHING}),
        ([look(30, answered=5, described=29)], {Wedge.NOT_FETCHING}),
        ([look(30, answered=5, described=6)], {Wedge.NO_LEADER}),
        ([look(30, leads=True)], set()),
        ([look(30, leads=True), look(39)], set()),
        ([look(30, leads=True), look(41)], {Wedge.NO_LEADER}),
        ([look(1, leads=True, end=11), look(10, leads=True, end=12)], set()),
        (
            [look(1, leads=True, end=11), look(11, leads=True, end=11)],
            {Wedge.HIGH_WATERMARK_STALLED},
        ),
        ([look(1, leads=True, end=11), look(11, leads=True, mark=11, end=12)], set()),
        (
            [look(1, leads=True, mark=None, end=11), look(12, leads=True, mark=None, end=11)],
            {Wedge.HIGH_WATERMARK_STALLED},
        ),
        ([look(1, leads=True, end=11), look(2, leads=True, mark=11, end=11),
          look(5, leads=True, mark=11, end=12), look(14, leads=True, mark=11, end=12)], set()),
    ],
)  # fmt: skip
def test_a_wedge_is_told_once_it_has_lasted_for_ten_seconds(looks, found):
    assert wedges(*looks) == found


def test_a_replica_is_ready_once_it_has_caught_up_and_while_nothing_is_wedged():
    readiness = Readiness(0.0, wedged_after_s=10.0)
    readiness.take(look(1, answered=1, caught_up=False)[1], 1)
    assert (readiness.is_ready, readiness.is_healthy) == (False, True)
    assert "catching-up" in readiness.lines()[0]
    readiness.take(look(2, answered=2)[1], 2)
    assert readiness.is_ready
    assert readiness.lines() == []
    readiness.take(look(13, answered=2, caught_up=False)[1], 13)
    assert (readiness.is_ready, readiness.is_healthy) == (False, True)
    assert readiness.lines() == ["no-leader: for 11 s"]
    readiness.take(look(14, answered=2, described=14)[1], 14)
    assert (readiness.is_ready, readiness.is_healthy) == (False, False)


def test_the_length_of_an_election_is_the_time_without_an_answer_of_a_leader():
    heard, lengths = Heard(), []
    heard.on_change = lengths.append
    for epoch, at in ((3, 1.0), (3, 2.0), (5, 6.5), (4, 7.0), (5, 8.0), (6, 8.5)):
        heard.answered(epoch, at)
    assert lengths == [4.5, 0.5]
    assert (heard.leader_changes, heard.epochs_passed, heard.epoch) == (2, 3, 6)
    assert heard.answered_at == 8.5
