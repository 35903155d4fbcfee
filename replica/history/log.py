"""A replica's log as a value: its batches, snapshots, epochs and voter sets, without their bytes.

The value has the batches with a valid CRC. So there are holes for damaged batches. There may also
be leftovers below the log start, which is legal: Kafka can move the log start into a segment that
it can't delete yet. Leftovers belong to the same history, and take part in every comparison.
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
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import VotersAt


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The offsets from `start` (inclusive) to `end` (exclusive)."""

    start: int
    end: int

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class LogBatch:
    """One record batch: offsets `base_offset` to `last_offset` (both inclusive) of one epoch.

    `digest` identifies the batch's bytes. Two batches are the same if and only if all four fields
    are equal.
    """

    base_offset: int
    last_offset: int
    epoch: int
    digest: Hashable


@dataclass(frozen=True, slots=True)
class ReplicaLog:
    """The content of one replica at one moment."""

    key: ReplicaKey
    log_start: int
    """The log start offset (inclusive); batches below it are legal leftovers."""
    batches: tuple[LogBatch, ...]
    """The batches with a valid CRC, sorted by offset, without overlap. There may be holes between
    them."""
    snapshots: tuple[OffsetAndEpoch, ...] = ()
    """The ids of complete and valid snapshots, in any order; 0-0 is the bootstrap snapshot."""
    quorum_epoch: int = UNDEFINED_EPOCH
    """The epoch in quorum-state; UNDEFINED_EPOCH if the file can't be read."""
    voter_sets: tuple[VotersAt, ...] = ()
    """The voters that KRaftVoters records of this log and of this replica's snapshots name, in any
    order."""
    leader_changes: tuple[VotersAt, ...] = ()
    """The voters that this log's LeaderChange records name. The log of a static quorum names no
    other voters."""
    led_epochs: frozenset[int] = frozenset()
    """The epochs in which this replica's node led, by the LeaderChange records of this log."""
    unsynced_from: int | None = None
    """The offset (inclusive) from which on entries may never have been synced to the disk: the
    offset of the first run of zeros between batches, as a power cut leaves it. Perhaps the replica
    never acknowledged these entries, although they can be read. None if there is no such run."""
    quorum_leader: int = NO_NODE
    """The node id of the leader in quorum-state; NO_NODE where it names none, or can't be read."""
    quorum_vote: int = NO_NODE
    """The node id for which quorum-state has a vote; NO_NODE where it has none, or can't be
    read."""

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
        """The first offset that the log holds, including leftovers; the log start if it holds
        nothing."""
        return self.batches[0].base_offset if self.batches else self.log_start

    @property
    def end_offset(self) -> int:
        """The log end offset (exclusive)."""
        if not self.batches:
            return self.log_start
        return max(self.log_start, self.batches[-1].last_offset + 1)

    @property
    def last_epoch(self) -> int:
        """The epoch of the last batch; UNDEFINED_EPOCH for an empty log."""
        return self.batches[-1].epoch if self.batches else UNDEFINED_EPOCH

    @property
    def newest_snapshot(self) -> OffsetAndEpoch | None:
        """The snapshot with the highest epoch and, among equal epochs, the highest offset (Kafka:
        latestSnapshotId). None without a snapshot."""
        return max(self.snapshots, key=election_order, default=None)

    @property
    def known_epoch(self) -> int | None:
        """The newest epoch in this replica's log, snapshots and quorum-state.

        None without a quorum-state, because the replica may have voted in a newer epoch.
        """
        if self.quorum_epoch == UNDEFINED_EPOCH:
            return None
        snapshot = self.newest_snapshot
        snapshot_epoch = UNDEFINED_EPOCH if snapshot is None else snapshot.epoch
        return max(self.quorum_epoch, self.last_epoch, snapshot_epoch)

    def batch_at(self, offset: int) -> LogBatch | None:
        """The batch that holds `offset`; None in a hole or outside the log."""
        index = bisect_right(self.batches, offset, key=lambda batch: batch.base_offset) - 1
        if index < 0 or self.batches[index].last_offset < offset:
            return None
        return self.batches[index]

    def held_from(self, offset: int) -> int:
        """The number of offsets from `offset` (inclusive) to the log end that the log holds. Holes
        don't count."""
        first = bisect_left(self.batches, offset, key=lambda batch: batch.last_offset)
        return sum(
            batch.last_offset + 1 - max(offset, batch.base_offset) for batch in self.batches[first:]
        )

    def restarted_from_snapshot(self) -> bool:
        """Whether the newest snapshot is newer than the log, so that Kafka empties the log when it
        starts. A crash between the rename of a fetched snapshot and the truncation of the log
        leaves such files (truncateToLatestSnapshot)."""
        snapshot = self.newest_snapshot
        if snapshot is None:
            return False
        return is_newer_than_log(snapshot, self.end_offset, self.last_epoch)

    def position(self) -> OffsetAndEpoch:
        """The end offset (exclusive) and the last epoch that voters compare in an election.

        They belong to the log, or to the newest snapshot if it is newer. The epoch is 0 for a
        replica without records.
        """
        snapshot = self.newest_snapshot
        log = OffsetAndEpoch(self.end_offset, self.last_epoch) if self.batches else None
        candidates = [position for position in (log, snapshot) if position is not None]
        return max(candidates, key=election_order, default=OffsetAndEpoch(self.end_offset, 0))


def epochs_of(batches: Iterable[LogBatch]) -> tuple[EpochStart, ...]:
    """The epoch cache that Kafka would rebuild from these batches: each epoch with its first
    offset, ascending.

    A batch whose epoch isn't higher than the previous epoch adds no entry.
    """
    entries: list[EpochStart] = []
    for batch in batches:
        if not entries or batch.epoch > entries[-1].epoch:
            entries.append(EpochStart(batch.epoch, batch.base_offset))
    return tuple(entries)


def contiguous_runs(batches: Iterable[LogBatch]) -> tuple[OffsetRange, ...]:
    """The ranges of offsets that these batches hold without a hole, ascending."""
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
