"""What a log and its snapshots hold when they are opened."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.batch import Batch
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.voters import VoterSet


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """The facts of a complete snapshot.

    size: the bytes of the file. timestamp: LastContainedLogTimestamp in the header, in ms. voters,
    kraft_version: the values in its control records; None and 0 where it has no such records.
    """

    snapshot_id: OffsetAndEpoch
    size: int
    timestamp: int = -1
    voters: VoterSet | None = None
    kraft_version: int = 0


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What an opened log holds, after recovery: all of it is durable.

    log_start: inclusive. log_end: exclusive. epochs: the leader-epoch cache. snapshots: the
    complete ones with the bootstrap snapshot 0-0, ascending. control_batches: ascending, at least
    those from the end of this log's newest snapshot on (without a snapshot, from log_start on);
    they have `control`, and may lack `data`.
    """

    log_start: int = 0
    log_end: int = 0
    epochs: tuple[EpochStart, ...] = ()
    snapshots: tuple[SnapshotFacts, ...] = ()
    control_batches: tuple[Batch, ...] = ()
