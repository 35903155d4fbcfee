"""What a follower cuts, and in how many rounds; B.. are scenario ids."""

import pytest

from replica.history.fetch import Diverging, LogView
from replica.history.log import LogBatch, ReplicaLog
from replica.history.truncation import (
    FetchOutcome,
    TruncationBelowHighWatermarkError,
    checked_truncation_offset,
    draft_fetch_rounds,
    fetch_rounds,
    truncation_offset,
)
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.keys import ReplicaKey


def log_of(node, *epochs, start=0, snapshots=()):
    """One offset per batch, in the epochs given; equal offset and epoch means equal bytes."""
    batches = tuple(LogBatch(start + i, start + i, e, (e, i)) for i, e in enumerate(epochs))
    return ReplicaLog(
        ReplicaKey(node), start, batches, tuple(OffsetAndEpoch(*s) for s in snapshots)
    )


FOLLOWER = LogView(0, 20, (EpochStart(1, 0), EpochStart(3, 10), EpochStart(4, 15)))


@pytest.mark.parametrize(
    ("epoch", "end", "expected"),
    [
        pytest.param(0, 12, 12, id="epoch-0-the-leaders-end"),
        pytest.param(0, 25, 20, id="epoch-0-at-most-the-log-end"),
        pytest.param(3, 12, 12, id="known-epoch-the-leaders-end"),
        pytest.param(3, 18, 15, id="known-epoch-the-local-end"),
        pytest.param(2, 12, 10, id="unknown-epoch-the-local-end-of-the-largest-below"),
        pytest.param(2, 5, 10, id="unknown-epoch-whatever-the-leaders-end"),
    ],
)
def test_truncation_looks_into_the_own_log_for_the_diverging_epoch(epoch, end, expected):
    assert truncation_offset(FOLLOWER, Diverging(epoch, end)) == expected


@pytest.mark.scenario("B17")
def test_a_follower_ahead_in_one_epoch_cuts_to_the_leaders_end():
    """B17: log end 3 at epoch 3, diverging (3, end 2)."""
    follower = LogView(0, 3, (EpochStart(3, 0),))
    assert truncation_offset(follower, Diverging(3, 2)) == 2


@pytest.mark.scenario("B18")
def test_truncation_below_the_high_watermark_is_fatal():
    """B18; the leader's end is held to it even where the own log would be cut less."""
    with pytest.raises(TruncationBelowHighWatermarkError, match=r"offset 12, .* watermark 13"):
        checked_truncation_offset(FOLLOWER, Diverging(3, 12), 13)
    with pytest.raises(TruncationBelowHighWatermarkError, match="offset 5"):
        checked_truncation_offset(FOLLOWER, Diverging(2, 5), 7)
    assert checked_truncation_offset(FOLLOWER, Diverging(3, 12), 12) == 12
    assert checked_truncation_offset(FOLLOWER, Diverging(3, 12), None) == 12


def test_equal_logs_need_no_round():
    assert fetch_rounds(log_of(1, 1, 1, 2), log_of(2, 1, 1)) == FetchOutcome(2, 0)
    assert draft_fetch_rounds(log_of(1, 1, 1, 2), log_of(2, 1, 1)) == FetchOutcome(2, 0)


def test_a_tail_of_one_epoch_needs_one_round_by_either_protocol():
    leader, follower = log_of(1, 1, 1, 3, 3), log_of(2, 1, 1, 2, 2, 2)
    assert fetch_rounds(leader, follower) == FetchOutcome(2, 1)
    assert draft_fetch_rounds(leader, follower) == FetchOutcome(2, 1)


@pytest.mark.scenario("B37")
def test_interleaved_epochs_need_several_rounds():
    """B37: follower epochs 0, 2, 4 and leader epochs 1, 3, 5."""
    leader = log_of(1, 0, 1, 1, 3, 3, 5)
    follower = log_of(2, 0, 0, 2, 2, 4, 4)
    assert fetch_rounds(leader, follower) == FetchOutcome(1, 3)


def test_the_draft_may_need_more_rounds_than_the_released_protocol():
    """The released answer names an epoch and the follower looks into its own log; NextFetchOffset
    is an end in the leader's log only: 5, then nothing new, so epoch 4 goes, and so on."""
    leader = log_of(1, 0, 1, 1, 3, 3, 5)
    follower = log_of(2, 0, 0, 2, 2, 4, 4)
    assert draft_fetch_rounds(leader, follower) == FetchOutcome(1, 5)


def test_the_draft_drops_an_epoch_the_leader_never_had_where_the_answer_cuts_nothing():
    leader = log_of(1, 1, 2, 2, 2, 2)
    follower = log_of(2, 1, 1, 3)
    assert draft_fetch_rounds(leader, follower) == FetchOutcome(1, 2)
    assert fetch_rounds(leader, follower) == FetchOutcome(1, 2)


def test_a_leader_that_prefers_a_snapshot_says_so_and_the_logs_still_tell_the_rest():
    leader = log_of(1, 1, 1, 3, 3, 3, snapshots=[(4, 3)])
    follower = log_of(2, 1, 1, 2, 2)
    assert fetch_rounds(leader, follower) == FetchOutcome(2, 1, OffsetAndEpoch(4, 3))


def test_a_leader_with_an_older_snapshot_diverges():
    leader = log_of(1, 1, 1, 3, 3, 3, snapshots=[(1, 1), (4, 3)])
    follower = log_of(2, 1, 1, 2, 2)
    assert fetch_rounds(leader, follower) == FetchOutcome(2, 1)
