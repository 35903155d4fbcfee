"""Record batches as the core sees them: offsets, epoch, control records; the bytes stay opaque.

The control records here are those that the core writes or obeys (KIP-595, KIP-853), free of record
versions; storage translates them to and from the bytes of replica.format.control.
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import ReplicaKey
from replica.raft.voters import VoterSet


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """First record of every epoch; `granting_voters` elected the leader, itself among them."""

    leader_id: int
    voters: tuple[ReplicaKey, ...]
    granting_voters: tuple[ReplicaKey, ...]


@dataclass(frozen=True, slots=True)
class KRaftVersion:
    """The finalized kraft.version: 0 static voters, 1 voters in the log."""

    kraft_version: int


@dataclass(frozen=True, slots=True)
class KRaftVoters:
    """The whole voter set, in force from its append on."""

    voters: VoterSet


ControlRecord = LeaderChange | KRaftVersion | KRaftVoters


@dataclass(frozen=True, slots=True)
class Batch:
    """One record batch with its place in a log.

    base_offset, last_offset: both inclusive. timestamp: append time in ms (its max timestamp).
    control: the control records that concern Raft, in order: those of a control batch, each with
    its own offset from base_offset on. data: the batch as it lies on disk. A leader's new batch
    carries what its proposer encoded, and the log stamps base offset and leader epoch, which a
    batch's CRC doesn't cover. A batch that this core made has no data: the log encodes `control`,
    or `values`, the records that its state machine appended.
    """

    base_offset: int
    last_offset: int
    epoch: int
    timestamp: int = -1
    control: tuple[ControlRecord, ...] = ()
    data: bytes = b""
    values: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        assert 0 <= self.base_offset <= self.last_offset, "a batch holds at least one offset"

    @property
    def end_offset(self) -> int:
        """Exclusive."""
        return self.last_offset + 1
