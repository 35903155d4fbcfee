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
    """The answer has the records from the asked offset to `end_offset` (exclusive), which is the
    local high watermark."""

    end_offset: int


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """The offset is the high watermark: the answer is empty after a long poll, and has no error."""


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """Case 1 of KIP-392: the replica holds the offset, but doesn't know whether it is committed.
    The answer is OFFSET_NOT_AVAILABLE."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Case 2 of KIP-392: the replica does not hold the offset, although its leader's high watermark
    says that the offset is committed. The answer is OFFSET_NOT_AVAILABLE."""


@dataclass(frozen=True, slots=True)
class OutOfRange:
    """The answer is OFFSET_OUT_OF_RANGE: the offset lies below `log_start` (case 3), or above every
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

    high_watermark, leader_high_watermark: exclusive; None while unknown, which they are on a new
    leader before a record of its epoch is committed, and on a replica that has just started. While
    they are unknown, nothing above the log start is known to be committed; what lies below was in a
    snapshot. Then no offset counts as too high either: OFFSET_OUT_OF_RANGE from a node that the
    reader takes for the leader would make the reader start anew. last_fetched_epoch: the epoch of
    the record before `fetch_offset`; -1 where the reader names none. The decision is Diverging
    where the committed part of this log has another epoch there (KIP-595's field, which Kafka's
    brokers also look at in consumers' fetches).
    """
    # The local one is capped at the log end and never below the log start.
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
    """Diverging where the reader's last epoch contradicts this log; else None. Only epochs that are
    known to have ended are compared: the reader may be ahead of this replica, and records above
    `committed` may still be truncated here."""
    epochs = truncate_from_end(log.epochs, committed)
    found = end_offset_for(epochs, committed, last_fetched_epoch)
    if found == UNDEFINED or found.epoch == epochs[-1].epoch:
        return None
    if found.epoch < last_fetched_epoch or found.offset < fetch_offset:
        return Diverging(found.epoch, found.offset)
    return None
