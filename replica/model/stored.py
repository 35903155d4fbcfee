"""The durable state of a replica as values: its election state, its log, its snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.batch import Batch
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import VoterSet


@dataclass(frozen=True, slots=True)
class ElectionState:
    """A replica's epoch, vote and leader, which the replica must never forget (Kafka:
    ElectionState)."""

    epoch: int
    leader_id: int = NO_NODE
    """The leader of the epoch; NO_NODE while the leader is unknown."""
    voted: ReplicaKey | None = None
    """The candidate that has the replica's vote in this epoch; None if the replica has not voted.
    The candidate's directory is ZERO_UUID if the file or the candidate named no directory."""
    kraft_version: int = 1
    """The version of the file quorum-state. At 0 the file has `voter_ids` and no directory of the
    vote; at 1 it has the directory and no `voter_ids`."""
    voter_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaderAndEpoch:
    """An epoch and its leader."""

    leader_id: int
    """The leader's node id; NO_NODE while the leader is unknown."""
    epoch: int


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    """The facts of a complete snapshot."""

    snapshot_id: OffsetAndEpoch
    size: int
    """The size of the file in bytes."""
    timestamp: int = -1
    """LastContainedLogTimestamp in the header, in ms."""
    voters: VoterSet | None = None
    """The voters in the snapshot's control records; None if the snapshot has no such record."""
    kraft_version: int = 0
    """The kraft.version in the snapshot's control records; 0 if the snapshot has no such record."""


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The content of an opened log after recovery. Everything is durable."""

    log_start: int = 0
    """The log start offset (inclusive)."""
    log_end: int = 0
    """The log end offset (exclusive)."""
    epochs: tuple[EpochStart, ...] = ()
    """The leader-epoch cache."""
    snapshots: tuple[SnapshotFacts, ...] = ()
    """The complete snapshots, ascending, including the bootstrap snapshot 0-0."""
    control_batches: tuple[Batch, ...] = ()
    """The control batches from the end of this log's newest snapshot on (without a snapshot, from
    log_start on), ascending. Older control batches may precede them. Each batch has `control`, and
    may lack `data`."""
