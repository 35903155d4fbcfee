"""The control records by which the Raft layer keeps its own state in the log (KIP-595, KIP-853).

They are free of record versions; storage translates them to and from the bytes of
replica.format.control.
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
