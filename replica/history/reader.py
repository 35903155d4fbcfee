"""Decides how a replica answers a reader's fetch (replica id -1, KIP-392). The answer never names a
snapshot.

A reader may fetch from any replica. So the decision takes two high watermarks: the one that this
replica has reached, and the one that its leader named, which may lie above the local log end.
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.history.epochs import UNDEFINED, end_offset_for, truncate_from_end
from replica.history.fetch import Diverging, LogView
from replica.model.epochs import UNDEFINED_EPOCH


@dataclass(frozen=True, slots=True)
class Committed:
    """The answer has the records from the requested offset to `end_offset` (exclusive), the local
    high watermark."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The offset is the high watermark: the answer has no error, and no records unless some come
    during the wait."""


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """Case 1 of KIP-392: the replica holds the offset, but doesn't know whether it is committed.
    The answer is OFFSET_NOT_AVAILABLE."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Case 2 of KIP-392: the replica doesn't hold the offset, but the offset may be committed: it
    is at most the leader's high watermark, or no high watermark is known. The answer is
    OFFSET_NOT_AVAILABLE."""


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """The answer is OFFSET_OUT_OF_RANGE: the offset is below `log_start` (case 3), or above every
    offset that is known to exist (case 4)."""

    log_start: int
    high_watermark: int


ReaderDecision = Committed | CaughtUp | Uncommitted | Unavailable | OutOfRange | Diverging


def reader_fetch(
    log: LogView,
    high_watermark: int | None,
    leader_high_watermark: int | None,
    fetch_offset: int,
    last_fetched_epoch: int = UNDEFINED_EPOCH,
) -> ReaderDecision:
    """Decide how to answer a reader that fetches from `fetch_offset` on.

    high_watermark, leader_high_watermark: exclusive. They are None while unknown: on a new leader
        before a record of its epoch is committed, and on a replica that has just started. While
        they are unknown, only offsets below the log start are known to be committed, and no offset
        counts as too high: after OFFSET_OUT_OF_RANGE from the apparent leader, the reader would
        reset its position.
    last_fetched_epoch: the epoch of the record before `fetch_offset`; -1 if the reader names none.
        If the committed part of this log has another epoch there, the decision is Diverging (a
        field of KIP-595, which Kafka's brokers also check in consumers' fetches).
    """
    # the local high watermark is at most the log end and at least the log start
    local = log.log_start if high_watermark is None else min(high_watermark, log.log_end)
    local = max(local, log.log_start)
    leaders = local if leader_high_watermark is None else leader_high_watermark
    knows_none = high_watermark is None and leader_high_watermark is None
    if fetch_offset < log.log_start:
        return OutOfRange(log.log_start, local)
    diverging = _diverging(log, local, fetch_offset, last_fetched_epoch)
    if diverging is not None:
        return diverging
    if fetch_offset < local:
        return Committed(local)
    if fetch_offset == local:
        return CaughtUp()
    if fetch_offset <= log.log_end:
        return Uncommitted()
    if fetch_offset <= leaders or knows_none:
        return Unavailable()
    return OutOfRange(log.log_start, local)


def _diverging(
    log: LogView, committed: int, fetch_offset: int, last_fetched_epoch: int
) -> Diverging | None:
    """Diverging if the reader's last epoch contradicts this log; else None. Only epochs that are
    known to have ended are compared: the reader may be ahead of this replica, and this replica may
    still truncate records above `committed`."""
    epochs = truncate_from_end(log.epochs, committed)
    found = end_offset_for(epochs, committed, last_fetched_epoch)
    if found == UNDEFINED or found.epoch == epochs[-1].epoch:
        return None
    if found.epoch < last_fetched_epoch or found.offset < fetch_offset:
        return Diverging(found.epoch, found.offset)
    return None
