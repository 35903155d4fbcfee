"""The control records by which the Raft layer keeps its own state in the log (KIP-595, KIP-853).

These values are for the consensus core: they have no record versions, and a voter set names each
node once. replica.format.control has the same records with their whole content, valid or not: with
versions and tagged fields, and possibly with a node twice. replica.storage.batches converts between
both, and raises an error about the peer or the disk for a record that the core can't use.
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import ReplicaKey
from replica.model.voters import VoterSet

KRAFT_VERSION = "kraft.version"
"""The feature (KIP-584) whose level the record KRaftVersion finalizes."""


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """The first record of every epoch."""

    leader_id: int
    voters: tuple[ReplicaKey, ...]
    granting_voters: tuple[ReplicaKey, ...]
    """The voters that elected the leader, including the leader."""


@dataclass(frozen=True, slots=True)
class KRaftVersion:
    """The finalized kraft.version: 0 for static voters, 1 for voters in the log."""

    kraft_version: int


@dataclass(frozen=True, slots=True)
class KRaftVoters:
    """The whole voter set, in force from its append on."""

    voters: VoterSet


ControlRecord = LeaderChange | KRaftVersion | KRaftVoters
