"""Where the logs of replicas end, and which of them end long before the newest log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from replica.model.keys import ReplicaKey
from replica.words import counted, duration_text

COPYING_MS = 10_000
"""The longest time (ms) for copying the directories of a running cluster one after another: a copy
may be this much older than another copy."""


class Behind(NamedTuple):
    """How far a replica's log is behind the newest log of its quorum."""

    records: int
    """How many records of the newest log the replica's log lacks."""
    ms: int | None
    """The lag in ms, as lag_ms gives it; None if unknown."""

    @property
    def text(self) -> str:
        """How far the log is behind, such as `24 records, 3.2 s`; `no` where it lacks no record."""
        if not self.records:
            return "no"
        told = counted(self.records, "record")
        return told if self.ms is None else f"{told}, {duration_text(self.ms)}"


def lag_ms(last_common_ms: int | None, newest_ms: int | None) -> int | None:
    """How long, in ms, a log is behind the newest log of its quorum. None if one of the times is
    None; 0 where the clock went back between them. last_common_ms: the time of the log's last
    record that the newest log has, too. newest_ms: the time of the newest log's last record. Both
    are largest timestamps of batches, in ms since 1970 (UTC); None for a batch without a time."""
    if last_common_ms is None or newest_ms is None:
        return None
    return max(newest_ms - last_common_ms, 0)


class LogEnd(NamedTuple):
    """The end of a replica's log."""

    key: ReplicaKey
    epoch: int
    """The epoch of the log's last batch."""
    end: int
    """The end offset (exclusive) of the log's last batch."""
    at_ms: int
    """The largest time in the log's last batch, in ms since 1970 (UTC)."""
    is_leader: bool
    """Whether the replica led `epoch`, by its own log."""
    is_last: bool = True
    """Whether the replica holds no records from `end` on: no snapshot is newer, and the copy of its
    log is complete."""


class OwnEnd(NamedTuple):
    """The last record in a node's own copy of the log. The node was alive at its time."""

    offset: int
    at: int | None
    """The time of the record, in ms since 1970 (UTC); None if its batch has no time."""


def own_ends_of(ends: Iterable[tuple[int, OwnEnd]]) -> dict[int, OwnEnd]:
    """For each node the last record in its log. If a node has several logs, this is the last record
    of the longest one. ends: the id of a node, and the last record of one of its logs; a record
    without a time is left out."""
    found: dict[int, OwnEnd] = {}
    for node_id, end in ends:
        if end.at is not None and end.offset >= found.get(node_id, end).offset:
            found[node_id] = end
    return found


def newest_end(ends: Sequence[LogEnd]) -> LogEnd | None:
    """The end of the log that an election prefers; None if there is no log."""
    return max(ends, key=_position, default=None)


def _position(one: LogEnd) -> tuple[int, int]:
    return one.epoch, one.end
