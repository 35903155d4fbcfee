"""Decides how a leader answers a replica's fetch, by the released protocol and by the protocol of
KIP-595's draft.

The released protocol is in KafkaRaftClient.tryCompleteFetchRequest and
ReplicatedLog.validateOffsetAndEpoch. The draft's RPC is FetchQuorumRecords of KIP-595's first
draft, whose answer Kafka changed. `reader` decides about fetches of readers (replica id -1).
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.history.epochs import kraft_end_offset_for, last_fetched_epoch, truncate_from_start
from replica.history.log import ReplicaLog, epochs_of
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, Epochs, OffsetAndEpoch, election_order
from replica.model.kafka_errors import ErrorCode


@dataclass(frozen=True, slots=True)
class LogView:
    """The facts of a log on which the protocol's decisions depend."""

    log_start: int
    """The log start offset (inclusive)."""
    log_end: int
    """The log end offset (exclusive)."""
    epochs: Epochs
    earliest_snapshot: OffsetAndEpoch | None = None
    """The lowest snapshot id in the folder, including the bootstrap snapshot; None without a
    snapshot."""
    latest_snapshot: OffsetAndEpoch | None = None
    """The highest snapshot id in the folder, including the bootstrap snapshot; None without a
    snapshot."""

    def end_offset_for(self, epoch: int) -> OffsetAndEpoch:
        """The result of kraft_end_offset_for on this log."""
        return kraft_end_offset_for(self.epochs, self.log_end, self.earliest_snapshot, epoch)

    @property
    def last_fetched_epoch(self) -> int:
        return last_fetched_epoch(self.epochs, self.earliest_snapshot)


def view_of(log: ReplicaLog) -> LogView:
    """The view of `log` that Kafka has after a start: without leftovers below the log start, and
    empty if a snapshot is newer than the log."""
    earliest, latest = min(log.snapshots, key=election_order, default=None), log.newest_snapshot
    if latest is not None and log.restarted_from_snapshot():
        return LogView(latest.offset, latest.offset, (), latest, latest)
    epochs = truncate_from_start(epochs_of(log.batches), log.log_start)
    return LogView(log.log_start, log.end_offset, epochs, earliest, latest)


@dataclass(frozen=True, slots=True)
class ValidPosition:
    """The follower's log agrees with the leader's up to the offset from which it fetches. The
    answer has the records from this offset on. At the log end, the fetch waits for new records."""


@dataclass(frozen=True, slots=True)
class Diverging:
    """The answer's DivergingEpoch: the leader's largest epoch that isn't above the follower's, and
    the end offset (exclusive) of this epoch in the leader's log."""

    epoch: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class SnapshotNeeded:
    """The answer's SnapshotId: the snapshot that the follower must fetch before any records."""

    snapshot_id: OffsetAndEpoch


def validate_leader_epoch(current_epoch: int, requested_epoch: int) -> ErrorCode | None:
    """FENCED_LEADER_EPOCH for a request with an older epoch, UNKNOWN_LEADER_EPOCH for a newer
    epoch; None for the current epoch. A newer epoch in a fetch doesn't raise the local epoch."""
    if requested_epoch < current_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if requested_epoch > current_epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return None


def validate_position(
    log: LogView, fetch_offset: int, fetched_epoch: int
) -> ValidPosition | Diverging | SnapshotNeeded:
    """Decide a replica's fetch. An empty follower needs the newest snapshot, if it isn't the
    bootstrap snapshot. So does a follower that can't be compared with this log, because its
    position is below the earliest snapshot. A follower whose last record isn't in this log gets
    Diverging. The position of any other follower is valid. The caller has checked the request's
    leader epoch."""
    latest = log.latest_snapshot
    # (a) A snapshot is faster for an empty follower. The bootstrap snapshot has no records.
    if fetch_offset == 0 and latest is not None and latest != BOOTSTRAP_SNAPSHOT:
        return SnapshotNeeded(latest)
    # (b)
    if log.log_start == 0 and fetch_offset == 0:
        return ValidPosition()
    # (c)
    earliest = log.earliest_snapshot
    if (
        earliest is not None
        and latest is not None
        and _below_snapshot(log, earliest, fetch_offset, fetched_epoch)
    ):
        return SnapshotNeeded(latest)
    # (d)
    end = log.end_offset_for(fetched_epoch)
    if end.epoch != fetched_epoch or end.offset < fetch_offset:
        return Diverging(end.epoch, end.offset)
    # (e)
    return ValidPosition()


def _below_snapshot(
    log: LogView, earliest: OffsetAndEpoch, fetch_offset: int, fetched_epoch: int
) -> bool:
    """Whether the leader can't compare its log with the follower's, because its records for this
    comparison were below its earliest snapshot."""
    if fetch_offset < log.log_start:
        return True
    if fetch_offset == log.log_start and fetched_epoch != earliest.epoch:
        return True
    return fetched_epoch < earliest.epoch


@dataclass(frozen=True, slots=True)
class DraftOutOfRange:
    """The answer OUT_OF_RANGE of KIP-595's draft: the follower has to truncate its log to
    next_fetch_offset."""

    next_fetch_offset: int
    next_fetch_epoch: int
    """The epoch of the record before next_fetch_offset in the leader's log; at the log start, the
    first epoch of that log."""


def draft_validate_position(
    log: LogView, fetch_offset: int, fetch_epoch: int
) -> ValidPosition | DraftOutOfRange:
    """Decide step 2 of FetchQuorumRecords in KIP-595's draft: FetchOffset must be at most the end
    offset of FetchEpoch in this log.

    fetch_offset: the end (exclusive) of the follower's log.
    fetch_epoch: the epoch of the follower's last record.

    The draft has no snapshots: a follower with an epoch below the first epoch has to go back to the
    log start.
    """
    if fetch_offset == 0 and log.log_start == 0:
        return ValidPosition()
    end = kraft_end_offset_for(log.epochs, log.log_end, None, fetch_epoch)
    if end.epoch == fetch_epoch and log.log_start <= fetch_offset <= end.offset:
        return ValidPosition()
    if log.epochs and fetch_epoch < log.epochs[0].epoch:
        return DraftOutOfRange(log.log_start, log.epochs[0].epoch)
    return DraftOutOfRange(max(end.offset, log.log_start), end.epoch)
