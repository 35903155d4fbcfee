"""The control records by which the Raft layer keeps its own state in the log (KIP-595, KIP-853).

These are what the core may rely on: without record versions, and with a voter set that names each
node once. replica.format.control has the same records as the bytes say them: with their version and
tagged fields, in the record's order, a node perhaps twice. replica.storage.batches turns one into
the other, which is where a peer or a disk is blamed for a record that the core can't use.
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import ReplicaKey
from replica.model.voters import VoterSet

KRAFT_VERSION = "kraft.version"
"""The feature (KIP-584) whose level the record KRaftVersion finalizes."""


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
