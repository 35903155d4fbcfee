"""Snapshots that an earlier build found equal to the log, and when they are compared again."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from pipelines.replay.compared_before import ENTRY, ComparedBefore, equal_snapshots, without_equal
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan, ReplayRun

CLUSTER = "c"


def branch(*crcs: int) -> pa.Table:
    """Entries from offset 0 on."""
    columns = range(len(crcs)), [1] * len(crcs), crcs
    return pa.table(dict(zip(ENTRY, map(list, columns), strict=True)))


def snapshot(end: int, content: str = "s") -> PlannedSnapshot:
    return PlannedSnapshot(end, 1, content, 1, None)


BEFORE = ComparedBefore(branch(7, 7, 8, 8), {(2, 1, "s"), (4, 1, "s")}, stayed=4)


@pytest.mark.parametrize(
    ("now", "equal"),
    [
        ((7, 7, 8, 8, 9), [2, 4]),
        ((7, 7, 8, 8), [2, 4]),
        ((7, 7, 8, 9), [2]),
        ((7, 7), [2]),
        ((7, 9, 8, 8), []),
        ((), []),
    ],
)
def test_a_snapshot_is_equal_still_where_the_log_below_its_end_is_the_same(
    now: Sequence[int], equal: Sequence[int]
) -> None:
    found = BEFORE.still_equal([branch(*now)], [snapshot(2), snapshot(4)])
    assert sorted(end for end, _, _ in found) == equal


def test_a_snapshot_is_compared_again_where_its_records_are_new_or_another_has_its_id() -> None:
    moved = ComparedBefore(BEFORE.branch, BEFORE.equal, stayed=3)
    assert moved.still_equal([BEFORE.branch], [snapshot(2), snapshot(4)]) == {(2, 1, "s")}
    beside = [snapshot(2), snapshot(2, "other"), snapshot(4)]
    assert BEFORE.still_equal([BEFORE.branch], beside) == {(4, 1, "s")}


def test_only_a_log_from_its_beginning_vouches_for_a_snapshot() -> None:
    equal = {(2, 1, "s"), (4, 1, "s")}
    snapshots = snapshot(2), snapshot(4)
    whole = ReplayPlan((ReplayRun(0, 3, None), ReplayRun(3, 5, snapshots[1])), snapshots, 5)
    kept, rows = without_equal(whole, equal, CLUSTER)
    assert kept.snapshots == snapshots[1:]
    assert [(row["end_offset"], row["different"], row["refused"]) for row in rows] == [(2, 0, 0)]
    headless = ReplayPlan((ReplayRun(1, 5, snapshots[0]),), snapshots, 5)
    assert without_equal(headless, equal, CLUSTER) == (headless, [])


def test_a_snapshot_counts_as_equal_by_a_capture_in_which_nothing_was_found() -> None:
    key = {"node_id": 1, "directory_id": "d", "end_offset": 2, "epoch": 1}
    held = {**key, "content_sha256": "s", "is_whole": True, "captures": ["a", "b"]}
    assert equal_snapshots([{**key, "capture_id": "b"}], [held]) == {(2, 1, "s")}
    assert not equal_snapshots([{**key, "capture_id": "other"}], [held])
    assert not equal_snapshots([{**key, "capture_id": "b"}], [{**held, "is_whole": False}])
