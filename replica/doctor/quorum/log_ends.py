"""Finds replicas whose logs end long before the newest one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from replica.model.keys import ReplicaKey

COPYING_MS = 10_000
"""The time, in ms, that copying the directories of a running cluster may take, one after the other:
one copy may be so much older than another."""


class LogEnd(NamedTuple):
    """Where the log of a replica ends."""

    key: ReplicaKey
    epoch: int
    """The epoch of its last batch."""
    end: int
    """The offset behind that batch (exclusive)."""
    at_ms: int
    """The largest time in that batch, in ms since 1970 (UTC)."""
    is_leader: bool
    """Whether its own log says that it leads this epoch."""
    is_last: bool = True
    """Whether the replica holds nothing behind this batch: no snapshot goes further, and the copy
    of its log doesn't break off."""


def newest_end(ends: Sequence[LogEnd]) -> LogEnd | None:
    """The end of the log that an election prefers; None where there is no log."""
    return max(ends, key=_position, default=None)


def behind_ms(ends: Sequence[LogEnd]) -> dict[ReplicaKey, int]:
    """How long before the newest log's end, in ms, the logs end that end COPYING_MS before it or
    earlier. A controller that leads appends two records a second, also when nothing happens."""
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
