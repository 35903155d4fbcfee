"""Finds the replicas whose disk went back to an older state: an earlier capture of a replica shows
more than a later capture, and Raft doesn't explain it.

A replica never forgets an epoch that it has known, because it persists the epoch before it acts in
it (quorum-state). Records that a majority holds are never truncated. So a disk with less than
before was restored from an older copy, or lost writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from replica.history.commitment import (
    Commitment,
    EntryCommitment,
    GroupComparison,
    acknowledged,
    classify_compared,
)
from replica.history.divergence import compare
from replica.history.log import OffsetRange, ReplicaLog, contiguous_runs
from replica.history.ranges import Ranges, intersection, union
from replica.model.keys import ReplicaKey


@dataclass(frozen=True, slots=True)
class ComparedRound:
    """The logs of one cluster's replicas at one moment, compared with each other."""

    group: GroupComparison
    commitment: Commitment

    @staticmethod
    def of(group: GroupComparison) -> ComparedRound:
        """The round, with the commitment by its logs."""
        return ComparedRound(group, classify_compared(group))


@dataclass(frozen=True, slots=True)
class WentBack:
    """A replica that knew more at an earlier moment. A snapshot that is newer than the log counts
    as the log's end."""

    key: ReplicaKey
    end_before: int
    """The end (exclusive) of the replica's log in the earlier capture."""
    end: int
    """The end (exclusive) of the replica's log now."""
    epoch_before: int | None
    """The newest epoch in the replica's files in the earlier capture; None without a
    quorum-state."""
    epoch: int | None
    """The newest epoch in the replica's files now; None without a quorum-state."""
    lost: Ranges
    """The offsets of the committed records that the replica held, may have acknowledged, and lacks
    now because they are behind the end of its log."""
    lacks_acknowledged: bool = False
    """Whether the replica held records, committed or not, that it may have acknowledged and lacks
    now."""

    @property
    def has_forgotten_an_epoch(self) -> bool:
        """Whether the newest epoch in the replica's files is older than in the earlier capture, so
        that the replica may vote a second time."""
        return _has_fallen(self.epoch_before, self.epoch)

    def __str__(self) -> str:
        if self.end < self.end_before:
            return (
                f"its log end offset was {self.end_before} in an earlier capture, and is "
                f"{self.end} now"
            )
        return (
            f"its directory knew epoch {self.epoch_before} in an earlier capture, and knows epoch "
            f"{self.epoch} now"
        )


def went_back(before: ComparedRound, now: ComparedRound) -> Iterator[WentBack]:
    """The replicas of both rounds whose disk went back in between."""
    of_now = {log.key: log for log in now.group.logs}
    for log in before.group.logs:
        own = of_now.get(log.key)
        if own is None:
            continue
        end = own.position().offset
        held = acknowledged(log, contiguous_runs(log.batches))
        held = intersection(held, (OffsetRange(end, log.end_offset),))
        lost = intersection(held, _proven(log, before, now)) if held else ()
        epochs = log.known_epoch, own.known_epoch
        if lost or _has_fallen(*epochs):
            yield WentBack(log.key, log.position().offset, end, *epochs, lost, bool(held))


def each_once(found: Iterable[WentBack]) -> dict[ReplicaKey, WentBack]:
    """One WentBack for each replica, which joins what all earlier moments show of it. found: the
    results of went_back for several earlier moments."""
    once: dict[ReplicaKey, WentBack] = {}
    for one in found:
        other = once.get(one.key, one)
        epochs = [epoch for epoch in (one.epoch_before, other.epoch_before) if epoch is not None]
        once[one.key] = replace(
            one,
            end_before=max(one.end_before, other.end_before),
            epoch_before=max(epochs, default=None),
            lost=union(one.lost, other.lost),
            lacks_acknowledged=one.lacks_acknowledged or other.lacks_acknowledged,
        )
    return once


def _has_fallen(before: int | None, now: int | None) -> bool:
    return before is not None and now is not None and now < before


def _proven(log: ReplicaLog, before: ComparedRound, now: ComparedRound) -> Ranges:
    """The offsets of the log's entries that the logs of either round prove to be committed."""
    then = before.commitment.ranges(log.key, EntryCommitment.PROVEN)
    later = (
        intersection(
            compare(other, log).ranges(same=True),
            now.commitment.ranges(other.key, EntryCommitment.PROVEN),
        )
        for other in now.group.logs
        if other.key != log.key
    )
    return union(then, *later)
