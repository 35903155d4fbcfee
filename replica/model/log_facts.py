"""What a log and its snapshots hold, as opening them tells it."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.batch import Batch
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.voters import VoterSet


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """What is known of a complete snapshot.

    size: of the file, in bytes. timestamp: LastContainedLogTimestamp of its header, in ms. voters,
    kraft_version: of its control records; None and 0 where it has none.
    """

    snapshot_id: OffsetAndEpoch
    size: int
    timestamp: int = -1
    voters: VoterSet | None = None
    kraft_version: int = 0


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What an opened log holds, after recovery: all of it is durable.

    log_start inclusive, log_end exclusive. epochs: the leader-epoch cache. snapshots: complete
    ones, ascending, the bootstrap snapshot 0-0 included. control_batches: those from the end of the
    newest snapshot of this log on (from log_start where there is none), ascending, with `control`
    decoded; `data` may be left empty. Older ones may be there: snapshots stand for them.
    """

    log_start: int = 0
    log_end: int = 0
    epochs: tuple[EpochStart, ...] = ()
    snapshots: tuple[SnapshotFacts, ...] = ()
    control_batches: tuple[Batch, ...] = ()
