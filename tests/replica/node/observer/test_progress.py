"""What a recorder tells, and when."""

from dataclasses import replace

from replica.model.epochs import OffsetAndEpoch
from replica.node.observer.progress import EVERY_S, RecordingProgress, RecordingState

EMPTY = RecordingState(False, None, 0, 0, 0)
SNAPSHOT = OffsetAndEpoch(519, 5)


def told(first, *looks, every_s=1.0):
    progress = RecordingProgress(first)
    found = [progress.notices(look, n * every_s) for n, look in enumerate(looks)]
    return [[notice.text for notice in notices] for notices in found], progress


def at(offset, watermark, start=0, **changed):
    return RecordingState(True, watermark, start, offset, offset, **changed)


def test_a_start_from_a_snapshot_is_told_with_its_id():
    fetching = replace(EMPTY, has_leader=True, fetching=SNAPSHOT)
    there = at(519, None, 519, starts_at=SNAPSHOT)
    lines, _ = told(EMPTY, fetching, there, replace(there, leader_watermark=600))

    assert lines == [["fetching snapshot 519-5"], ["starting from snapshot 519-5"], []]


def test_a_start_without_a_snapshot_says_so():
    lines, _ = told(EMPTY, at(0, 40))

    assert lines == [["starting from offset 0: the leader has no snapshot"]]


def test_being_caught_up_is_told_once_until_it_lags_for_long():
    lines, _ = told(at(40, None), at(40, 40), at(40, 41), at(41, 41), at(41, 41))

    assert lines == [["going on at offset 40", "caught up at offset 40"], [], [], []]


def test_a_lag_is_told_every_so_often_and_its_end():
    looks = (at(40, 40), at(40, 90), at(50, 90), at(90, 90))
    lines, _ = told(at(40, None), *looks, every_s=EVERY_S / 2)

    assert lines[2:] == [
        ["at offset 50, 40 behind the high watermark"],
        ["caught up at offset 90"],
    ]


def test_a_quorum_without_a_leader_is_told_every_so_often():
    lost = RecordingState(False, None, 0, 40, 40)
    lines, _ = told(at(40, None), *[lost] * 4, every_s=EVERY_S)

    assert lines == [[], *[["at offset 40; no leader found yet"]] * 3]


def test_the_target_is_the_first_high_watermark_and_reached_once_flushed():
    _, progress = told(at(40, None), at(40, 45), at(44, 60))

    assert progress.target == 45
    assert not progress.has_reached_target(RecordingState(True, 60, 0, 45, 44))
    assert progress.has_reached_target(RecordingState(True, 60, 0, 45, 45))
