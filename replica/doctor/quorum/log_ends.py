"""Finds replicas whose logs end long before the newest log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from replica.model.keys import ReplicaKey

COPYING_MS = 10_000
"""The longest time (ms) for copying the directories of a running cluster one after another: a copy
may be this much older than another copy."""


class LogEnd(NamedTuple):
    """The end of a replica's log."""

    key: ReplicaKey
    epoch: int
    """The epoch of the log's last batch."""
    end: int
    """The end offset of this batch (exclusive)."""
    at_ms: int
    """The largest time in this batch, in ms since 1970 (UTC)."""
    is_leader: bool
    """Whether the replica leads this epoch by its own log."""
    is_last: bool = True
    """Whether the replica holds no records behind this batch: no snapshot is newer, and the copy of
    its log is complete."""


def newest_end(ends: Sequence[LogEnd]) -> LogEnd | None:
    """The end of the log that an election prefers; None if there is no log."""
    return max(ends, key=_position, default=None)


def behind_ms(ends: Sequence[LogEnd]) -> dict[ReplicaKey, int]:
    """How long (ms) before the newest log's end each log ends, for logs that end at least
    COPYING_MS earlier. A leader appends two records a second, even if nothing changes."""
    newest = newest_end(ends)
    if newest is None:
        return {}
    return {
        one.key: newest.at_ms - one.at_ms
        for one in ends
        if one.is_last
        and _position(one) < _position(newest)
        and newest.at_ms - one.at_ms >= COPYING_MS
    }


def _position(one: LogEnd) -> tuple[int, int]:
    return one.epoch, one.end
