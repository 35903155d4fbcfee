"""What a replica keeps on its disk, as values: its election state, its log, its snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.batch import Batch
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import VoterSet


@dataclass(frozen=True, slots=True)
class ElectionState:
    """A replica's epoch, vote and leader, which it must never forget (Kafka: ElectionState).

    leader_id: NO_NODE while the leader is unknown. voted: the candidate that has the replica's vote
    in this epoch; None where the replica has not voted. Its directory is ZERO_UUID where the file
    or the candidate named none. kraft_version: the form of the file. At 0 the file has `voter_ids`
    and no directory of the vote; at 1 it has that directory and no `voter_ids`.
    """

    epoch: int
    leader_id: int = NO_NODE
    voted: ReplicaKey | None = None
    kraft_version: int = 1
    voter_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaderAndEpoch:
    """An epoch and its leader. leader_id: NO_NODE while the leader is unknown."""

    leader_id: int
    epoch: int


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
    complete snapshots, ascending; the bootstrap snapshot 0-0 is one of them. control_batches: the
    control batches from the end of this log's newest snapshot on (without a snapshot, from
    log_start on), ascending. There may be older ones, too. They have `control`, and may lack
    `data`.
    """

    log_start: int = 0
    log_end: int = 0
    epochs: tuple[EpochStart, ...] = ()
    snapshots: tuple[SnapshotFacts, ...] = ()
    control_batches: tuple[Batch, ...] = ()
