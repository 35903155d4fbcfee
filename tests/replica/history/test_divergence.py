"""Two logs compared: relations, spans, what the loser gives up."""

import time

import pytest

from replica.errors import UsageError
from replica.history.divergence import Divergence, Relation, Span, compare
from replica.history.log import LogBatch, OffsetRange, ReplicaLog
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaKey
from tests.replica.history.pairs import diverge

A, B = ReplicaKey(1, "directory-a"), ReplicaKey(2, "directory-b")


def log_of(key, *epochs, start=0, log_start=None, snapshots=(), holes=()):
    """One offset per batch, in the epochs given; equal offset and epoch means equal bytes."""
    batches = tuple(
        LogBatch(start + i, start + i, e, (e, start + i))
        for i, e in enumerate(epochs)
        if start + i not in holes
    )
    ids = tuple(OffsetAndEpoch(*s) for s in snapshots)
    return ReplicaLog(key, start if log_start is None else log_start, batches, ids)


def test_equal_logs_are_identical_and_everything_else_is_none():
    found = diverge(log_of(A, 1, 1, 2), log_of(B, 1, 1, 2))
    assert found == Divergence(Relation.IDENTICAL)


def test_the_range_both_hold_decides_whatever_the_heads():
    assert diverge(log_of(A, 1, 1, 2), log_of(B, 1, 2, start=1)).relation is Relation.IDENTICAL
    assert diverge(log_of(A, 1, 1, 2, 2), log_of(B, 1, 2, start=1)).relation is Relation.PREFIX


def test_a_shorter_equal_log_is_a_prefix_in_either_order():
    assert diverge(log_of(A, 1, 1), log_of(B, 1, 1, 2)) == Divergence(Relation.PREFIX)
    assert diverge(log_of(A, 1, 1, 2), log_of(B, 1, 1)) == Divergence(Relation.PREFIX)


def test_a_diverged_pair_carries_what_gold_divergence_points_needs():
    """The shape of the recorded split: the longer log of the older epoch loses."""
    found = diverge(log_of(A, 1, 5, 5, 5, 5), log_of(B, 1, 5, 6))
    assert found == Divergence(
        relation=Relation.DIVERGED,
        divergence_offset=2,
        epoch_a=5,
        epoch_b=6,
        truncating=A,
        truncation_offset=2,
        fetch_rounds=1,
        draft_fetch_rounds=1,
        records_lost=3,
    )


def test_swapping_the_logs_swaps_the_epochs_only():
    found = diverge(log_of(A, 1, 5, 6), log_of(B, 1, 5, 5, 5, 5))
    assert (found.epoch_a, found.epoch_b) == (6, 5)
    assert (found.truncating, found.truncation_offset, found.records_lost) == (B, 2, 3)


def test_a_snapshot_newer_than_the_log_wins_the_election():
    """A fetched a snapshot of epoch 7 and wasn't truncated yet."""
    behind = log_of(A, 1, 5, 5, snapshots=[(9, 7)])
    found = diverge(behind, log_of(B, 1, 5, 6, 6))
    assert found.truncating == B
    assert found.snapshot_id == OffsetAndEpoch(9, 7)
    assert (found.truncation_offset, found.records_lost) == (2, 2)


def test_one_offset_and_epoch_with_two_contents_is_a_conflict_that_nobody_truncates():
    one = ReplicaLog(A, 0, (LogBatch(0, 3, 1, "a"), LogBatch(4, 4, 2, "b")))
    other = ReplicaLog(B, 0, (LogBatch(0, 3, 1, "a"), LogBatch(4, 4, 2, "x")))
    assert diverge(one, other) == Divergence(Relation.CONFLICT, 4, 2, 2, conflict_offset=4)


def test_two_leaders_of_one_epoch_are_a_conflict_though_epochs_part_first():
    """At 1 the epochs differ; at 2 both hold epoch 4 with other bytes."""
    one = ReplicaLog(A, 0, tuple(LogBatch(i, i, e, "a") for i, e in enumerate((1, 4, 4))))
    other = ReplicaLog(B, 0, tuple(LogBatch(i, i, e, "b") for i, e in enumerate((1, 2, 4), 0)))
    other = ReplicaLog(B, 0, (one.batches[0], *other.batches[1:]))
    found = diverge(one, other)
    assert (found.relation, found.divergence_offset) == (Relation.CONFLICT, 1)
    assert (found.epoch_a, found.epoch_b, found.conflict_offset) == (4, 2, 2)


def test_equal_entries_after_a_difference_are_a_conflict_too():
    """Log matching: one entry with two pasts."""
    found = diverge(log_of(A, 1, 2, 4), log_of(B, 1, 3, 4))
    assert (found.relation, found.conflict_offset) == (Relation.CONFLICT, 2)


def test_logs_without_a_common_offset_are_disjoint():
    assert diverge(log_of(A, 1, 1), log_of(B, 2, 2, start=2)).relation is Relation.DISJOINT
    assert diverge(log_of(A, 1, 1), log_of(B, start=2)).relation is Relation.DISJOINT
    assert diverge(log_of(A, start=5), log_of(B, start=5)).relation is Relation.DISJOINT
    assert diverge(log_of(A), log_of(B, 2, 2, start=2)).relation is Relation.DISJOINT


def test_a_replica_that_never_held_anything_is_behind_every_log_from_0_on():
    assert diverge(log_of(A), log_of(B, 1, 1)).relation is Relation.PREFIX
    assert diverge(log_of(A, 1), log_of(B)).relation is Relation.PREFIX
    assert diverge(log_of(A), log_of(B)).relation is Relation.IDENTICAL


def test_leftovers_below_a_log_start_take_part():
    found = diverge(log_of(A, 1, 1, 2, 2, log_start=3), log_of(B, 1, 1, 2, 2))
    assert found.relation is Relation.IDENTICAL
    spans = compare(log_of(A, 1, 1, 2, 2, log_start=3), log_of(B, 1, 1, 2, 2)).spans
    assert spans == (Span(0, 4, True),)


def test_damaged_batches_are_holes_that_are_not_compared():
    holed = log_of(A, 1, 1, 5, 5, 5, holes={1, 2})
    found = diverge(holed, log_of(B, 1, 1, 6, 6, 6))
    assert (found.divergence_offset, found.records_lost) == (3, 2)
    assert compare(holed, log_of(B, 1, 1, 6, 6, 6)).spans == (
        Span(0, 1, True),
        Span(3, 5, False),
    )


def test_holes_that_leave_nothing_in_common_make_logs_disjoint():
    assert diverge(log_of(A, 1, 1, holes={0}), log_of(B, 1, 1, holes={1})).relation is (
        Relation.DISJOINT
    )


def test_batches_of_other_boundaries_conflict_in_one_epoch_and_diverge_in_two():
    whole = ReplicaLog(A, 0, (LogBatch(0, 3, 1, "a"),))
    halves = ReplicaLog(B, 0, (LogBatch(0, 1, 1, "b"), LogBatch(2, 3, 1, "c")))
    assert diverge(whole, halves).relation is Relation.CONFLICT
    newer = ReplicaLog(B, 0, (LogBatch(0, 1, 2, "b"), LogBatch(2, 5, 2, "c")))
    found = diverge(whole, newer)
    assert (found.relation, found.divergence_offset) == (Relation.DIVERGED, 0)
    assert (found.truncating, found.records_lost) == (A, 4)


def test_agreement_ends_at_the_first_difference():
    assert compare(log_of(A, 1, 1, 2), log_of(B, 1, 3)).agreement == OffsetRange(0, 1)
    assert compare(log_of(A, 1, 1, 2), log_of(B, 1, start=1)).agreement == OffsetRange(1, 2)
    assert compare(log_of(A, 1), log_of(B, 2)).agreement is None


@pytest.mark.parametrize("batches", [((3, 4), (0, 1)), ((0, 2), (2, 3)), ((5, 4),)])
def test_batches_out_of_order_are_refused(batches):
    with pytest.raises(UsageError, match="out of order"):
        ReplicaLog(A, 0, tuple(LogBatch(base, last, 1, "a") for base, last in batches))


def test_a_negative_log_start_is_refused():
    with pytest.raises(UsageError, match="negative"):
        ReplicaLog(A, -1, ())


def test_two_logs_of_200000_batches_are_compared_in_about_a_second_at_most():
    """The bound is generous: the pass is linear, a quadratic one would take minutes."""
    shared = [LogBatch(2 * i, 2 * i + 1, 1 + i // 50_000, i) for i in range(199_000)]
    tails = [
        [LogBatch(2 * i, 2 * i + 1, epoch, i) for i in range(199_000, 200_000)] for epoch in (5, 6)
    ]
    one = ReplicaLog(A, 0, tuple(shared + tails[0]))
    copies = [LogBatch(b.base_offset, b.last_offset, b.epoch, b.digest) for b in shared]
    other = ReplicaLog(B, 0, tuple(copies + tails[1]))
    started = time.perf_counter()
    found = diverge(one, other)
    assert time.perf_counter() - started < 3
    assert (found.divergence_offset, found.records_lost) == (398_000, 2000)
