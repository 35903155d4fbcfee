"""Computes the high watermark (exclusive): every offset below it is committed.

Kafka: LeaderState.maybeUpdateHighWatermark, FollowerState.updateHighWatermark.
"""

from __future__ import annotations

from collections.abc import Mapping

from replica.errors import KraftlakeError
from replica.model.keys import ReplicaKey
from replica.model.voters import majority


class HighWatermarkRegressionError(KraftlakeError):
    """A leader named a lower high watermark than before."""


def leader_high_watermark(
    voters: frozenset[ReplicaKey],
    flushed_ends: Mapping[ReplicaKey, int],
    epoch_start_offset: int,
    current: int | None,
) -> int | None:
    """The leader's high watermark after a change of voters or of a log end.

    flushed_ends: the flushed log end offsets (exclusive) by replica, including the leader's own.
        Only voters count, so a leader that left the voter set doesn't count itself. A missing voter
        counts as 0.
    epoch_start_offset: the offset of the leader's LeaderChange record.
    current: the high watermark so far in this epoch; None on a new leader, whatever it knew as a
        follower.

    The result never falls. It is None until a majority has a record of this epoch (Raft, figure 8).
    """
    if not voters:
        return current
    ends = sorted((flushed_ends.get(voter, 0) for voter in voters), reverse=True)
    reached = ends[majority(len(voters)) - 1]
    if reached <= epoch_start_offset:
        return current
    return reached if current is None else max(current, reached)


def follower_high_watermark(
    known: int | None, leaders: int | None, log_end_offset: int
) -> int | None:
    """A follower's high watermark after its leader named `leaders` (None while the leader doesn't
    know it).

    The result is at most the local log end. It never falls, even in a new epoch with a leader that
    names a lower one.
    """
    if leaders is None:
        return known
    reached = min(leaders, log_end_offset)
    return reached if known is None else max(known, reached)


def checked_leader_watermark(named: int | None, leaders: int | None) -> int | None:
    """`leaders`, the high watermark (exclusive) that a leader names in its epoch, unchanged; None
    if it names none. named: the high watermark that the leader named before; None if it named none.

    Raises HighWatermarkRegressionError if `leaders` is lower than `named`, or missing although
    `named` isn't.
    """
    if named is not None and (leaders is None or leaders < named):
        to = "none" if leaders is None else leaders
        raise HighWatermarkRegressionError(f"the high watermark would fall from {named} to {to}")
    return leaders
