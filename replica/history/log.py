"""A replica's log as a value: batches, snapshots, epochs and voter sets, without their bytes.

Batches are those whose CRC is right, so there may be holes where a batch is damaged, and legal
leftovers below the log start (Kafka moves the log start inside a segment it can't delete yet).
Leftovers are entries of the same lineage and take part in every comparison.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from replica.errors import UsageError
from replica.model.epochs import (
    UNDEFINED_EPOCH,
    EpochStart,
    OffsetAndEpoch,
    election_order,
    is_newer_than_log,
)
from replica.model.keys import ReplicaKey
from replica.model.voters import VotersAt


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Offsets from `start` (inclusive) to `end` (exclusive)."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class LogBatch:
    """One record batch: offsets `base_offset` to `last_offset` (both inclusive) of one epoch.

    `digest` stands for the bytes; two batches are the same exactly when all four fields are equal.
    """

    base_offset: int
    last_offset: int
    epoch: int
    digest: Hashable


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """What one replica holds at one moment.

    log_start: the log start offset (inclusive); batches below it are legal leftovers.
    batches: CRC-valid, sorted by offset, not overlapping; holes are allowed.
    snapshots: ids of complete and valid snapshots, in any order; 0-0 is the bootstrap snapshot.
    quorum_epoch: the epoch in quorum-state, UNDEFINED_EPOCH if there is none to read.
    voter_sets: KRaftVoters records of this log and of this replica's snapshots, in any order.
    leader_changes: the voters that LeaderChange records name, the only source in a static quorum.
    """

    key: ReplicaKey
    log_start: int
    batches: tuple[LogBatch, ...]
    snapshots: tuple[OffsetAndEpoch, ...] = ()
    quorum_epoch: int = UNDEFINED_EPOCH
    voter_sets: tuple[VotersAt, ...] = ()
    leader_changes: tuple[VotersAt, ...] = ()

    def __post_init__(self) -> None:
        if self.log_start < 0:
            raise UsageError(f"log start {self.log_start} of {self.key} is negative")
        end = -1
        for batch in self.batches:
            if batch.base_offset <= end or batch.last_offset < batch.base_offset:
                raise UsageError(
                    f"batch {batch.base_offset}-{batch.last_offset} of {self.key} is out of order"
                )
            end = batch.last_offset

    @property
    def first_offset(self) -> int:
        """The first offset held, leftovers included; the log start where nothing is held."""
        return self.batches[0].base_offset if self.batches else self.log_start

    @property
    def end_offset(self) -> int:
        """The log end offset (LEO, exclusive)."""
        if not self.batches:
            return self.log_start
        return max(self.log_start, self.batches[-1].last_offset + 1)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch, UNDEFINED_EPOCH where nothing is held."""
        return self.batches[-1].epoch if self.batches else UNDEFINED_EPOCH

    @property
    def newest_snapshot(self) -> OffsetAndEpoch | None:
        """The snapshot with the highest epoch, then offset: Kafka's latestSnapshotId has the
        highest of both."""
        return max(self.snapshots, key=election_order, default=None)

    @property
    def known_epoch(self) -> int | None:
        """The newest epoch this replica is known to know: log, snapshots, quorum-state.

        None without a quorum-state: then it may have voted in an epoch nobody sees.
        """
        if self.quorum_epoch == UNDEFINED_EPOCH:
            return None
        snapshot = self.newest_snapshot
        snapshot_epoch = UNDEFINED_EPOCH if snapshot is None else snapshot.epoch
        return max(self.quorum_epoch, self.last_epoch, snapshot_epoch)

    def batch_at(self, offset: int) -> LogBatch | None:
        """The batch that holds `offset`, None in a hole or outside the log."""
        index = bisect_right(self.batches, offset, key=_base_offset) - 1
        if index < 0 or self.batches[index].last_offset < offset:
            return None
        return self.batches[index]

    def held_from(self, offset: int) -> int:
        """How many offsets from `offset` (inclusive) to the log end are held; holes don't count."""
        first = bisect_left(self.batches, offset, key=_last_offset)
        return sum(
            batch.last_offset + 1 - max(offset, batch.base_offset) for batch in self.batches[first:]
        )

    def restarted_from_snapshot(self) -> bool:
        """Whether the newest snapshot is newer than the log: then Kafka empties the log when it
        starts. This is legal after a fetched snapshot was renamed, and before the log was truncated
        (truncateToLatestSnapshot)."""
        snapshot = self.newest_snapshot
        if snapshot is None:
            return False
        return is_newer_than_log(snapshot, self.end_offset, self.last_epoch)

    def position(self) -> OffsetAndEpoch:
        """End offset and last epoch with which this replica stands in an election.

        The newest of log and snapshot; epoch 0 for a replica that holds nothing.
        """
        snapshot = self.newest_snapshot
        log = OffsetAndEpoch(self.end_offset, self.last_epoch) if self.batches else None
        candidates = [position for position in (log, snapshot) if position is not None]
        return max(candidates, key=election_order, default=OffsetAndEpoch(self.end_offset, 0))


def epochs_of(batches: Iterable[LogBatch]) -> tuple[EpochStart, ...]:
    """The epoch cache that `batches` imply: each epoch with its first offset, ascending.

    Like a cache rebuilt from segments; a batch whose epoch is not above the last one adds nothing.
    """
    entries: list[EpochStart] = []
    for batch in batches:
        if not entries or batch.epoch > entries[-1].epoch:
            entries.append(EpochStart(batch.epoch, batch.base_offset))
    return tuple(entries)


def contiguous_runs(batches: Iterable[LogBatch]) -> tuple[OffsetRange, ...]:
    """The ranges of offsets held without a hole, ascending."""
    runs: list[OffsetRange] = []
    start = end = -1
    for batch in batches:
        if batch.base_offset != end:
            if end > start:
                runs.append(OffsetRange(start, end))
            start = batch.base_offset
        end = batch.last_offset + 1
    if end > start:
        runs.append(OffsetRange(start, end))
    return tuple(runs)


def _base_offset(batch: LogBatch) -> int:
    return batch.base_offset


def _last_offset(batch: LogBatch) -> int:
    return batch.last_offset
