"""Losses out of truncations and divergences: each told once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.report.divergences import ForkBranch, Replica, partings_of
from pipelines.report.losses import LostRecordCount, When, losses

WHEN = datetime(2026, 1, 1, tzinfo=UTC)
LAST, GONE = WHEN + timedelta(hours=1), WHEN + timedelta(hours=2)
TWO, THREE = Replica(2, "d2"), Replica(3, "d3")


def _pair(a: int, b: int, **more: Any) -> dict[str, Any]:
    return {
        "capture_group": "g2",
        "captured_at": WHEN,
        "is_latest": True,
        "relation": "diverged",
        "divergence_offset": 10,
        **{"node_a": a, "directory_a": f"d{a}", "epoch_a": 5 if a in (2, 3) else 6},
        **{"node_b": b, "directory_b": f"d{b}", "epoch_b": 5 if b in (2, 3) else 6},
        "truncating_node": next((node for node in (a, b) if node in (2, 3)), None),
        **{"records_lost": 4, "committed_lost": 0, "unproven_lost": 0, "superseded_lost": 4},
        **more,
    }


def _truncation(node: int) -> dict[str, Any]:
    lost = {"committed_lost": 0, "unproven_lost": 0, "superseded_lost": 4}
    place = {"from_offset": 10, "to_offset": 14, "records": 4, "epochs": [5]}
    seen = {"last_seen": LAST, "seen_at": GONE}
    return {"node_id": node, "directory_id": f"d{node}", **place, **lost, **seen}


def test_replicas_that_hold_the_same_tail_are_one_branch_and_one_loss() -> None:
    parting, *rest = partings_of([_pair(1, 2), _pair(1, 3)])
    assert not rest
    assert [branch.epoch for branch in parting.branches] == [6, 5]
    assert parting.branches[1].replicas == (TWO, THREE)
    assert losses([], [parting], {TWO: "g2", THREE: "g2"}) == (
        LostRecordCount((TWO, THREE), When.PENDING, 10, 4, 0, 0, 4, (5,), capture_group="g2"),
    )


def test_a_divergence_that_was_truncated_since_is_told_by_the_truncation_alone() -> None:
    partings = partings_of([_pair(1, 2), _pair(1, 3)])
    found = losses([_truncation(2), _truncation(3)], partings, {TWO: "g3", THREE: "g3"})
    gone = LostRecordCount(
        (TWO, THREE), When.GONE, 10, 4, 0, 0, 4, (5,), end=14, between=(LAST, GONE)
    )
    assert found == (gone,)


def test_replicas_that_lost_the_same_at_other_moments_are_told_by_all_moments() -> None:
    later = GONE + timedelta(hours=1)
    rows = [_truncation(2) | {"last_seen": None}, _truncation(3) | {"seen_at": later}]
    (loss,) = losses(rows, [], {})
    assert loss.replicas == (TWO, THREE)
    assert loss.between == (LAST, later)
    (unseen,) = losses(rows[:1], [], {})
    assert unseen.between == (None, GONE)


def test_a_loss_that_no_later_capture_shows_is_not_called_truncated() -> None:
    found = losses([], partings_of([_pair(1, 2)]), {TWO: "g3"})
    assert [loss.when for loss in found] == [When.UNSEEN]


def test_the_worst_that_any_pair_tells_of_a_replica_counts() -> None:
    worse = _pair(2, 4, committed_lost=1, superseded_lost=3)
    (loss,) = losses([], partings_of([_pair(1, 2), worse]), {TWO: "g2"})
    assert (loss.committed, loss.superseded) == (1, 3)


def test_replicas_in_conflict_are_told_apart_by_the_bytes_they_hold() -> None:
    pairs = [
        _pair(1, 4, relation="conflict", truncating_node=None, records_lost=None),
        _pair(1, 6, relation="conflict", truncating_node=None, records_lost=None),
    ]
    (parting,) = partings_of(pairs)
    assert len(parting.branches) == 1
    heads = [
        {
            "node_id": 1,
            "directory_id": "d1",
            "leader_epoch": 6,
            "crc": 7,
            "log_end_offset": 20,
            "since_ms": 9,
        },
        {
            "node_id": 4,
            "directory_id": "d4",
            "leader_epoch": 6,
            "crc": 9,
            "log_end_offset": 30,
            "since_ms": 5,
        },
        {
            "node_id": 6,
            "directory_id": "d6",
            "leader_epoch": 6,
            "crc": 9,
            "log_end_offset": 31,
            "since_ms": None,
        },
    ]
    told = parting.with_heads(heads)
    assert told.branches == (
        ForkBranch(6, (Replica(4, "d4"), Replica(6, "d6")), 9, 31),
        ForkBranch(6, (Replica(1, "d1"),), 7, 20),
    )
    assert told.is_conflict
    assert told.since_ms == 5
    assert not told.losing


def test_batches_that_the_lake_does_not_have_leave_the_branches_as_the_pairs_tell_them() -> None:
    (parting,) = partings_of([_pair(1, 2)])
    assert parting.with_heads([]) == parting
