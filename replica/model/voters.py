"""Voter sets (KIP-853): who votes, where they listen, which kraft.version they support.

A voter without a directory id (ZERO_UUID, kraft.version 0) stands for any directory of its node.
Kafka: VoterSet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from replica.model.keys import ZERO_UUID, ReplicaKey


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """Where a node listens, by the name of its listener."""

    name: str
    host: str
    port: int


Endpoints = tuple[Endpoint, ...]


@dataclass(frozen=True, slots=True)
class Voter:
    """One voter; the range of kraft.version it supports has both ends inclusive."""

    key: ReplicaKey
    endpoints: Endpoints = ()
    min_kraft_version: int = 0
    max_kraft_version: int = 1

    def matches(self, key: ReplicaKey) -> bool:
        """Whether `key` is this voter: same node, and the same directory where one is known."""
        if self.key.node_id != key.node_id:
            return False
        return self.key.directory_id in (ZERO_UUID, key.directory_id)

    def supports(self, kraft_version: int) -> bool:
        return self.min_kraft_version <= kraft_version <= self.max_kraft_version


@dataclass(frozen=True, slots=True)
class VoterSet:
    """Voters in the order of their node ids, one for each id; see `voter_set`."""

    voters: tuple[Voter, ...] = ()

    def __post_init__(self) -> None:
        ids = [voter.key.node_id for voter in self.voters]
        assert ids == sorted(set(ids)), "one voter for each node id, in their order"

    def __iter__(self) -> Iterator[Voter]:
        return iter(self.voters)

    def __len__(self) -> int:
        return len(self.voters)

    @property
    def keys(self) -> frozenset[ReplicaKey]:
        return frozenset(voter.key for voter in self.voters)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(voter.key.node_id for voter in self.voters)

    def voter(self, node_id: int) -> Voter | None:
        for voter in self.voters:
            if voter.key.node_id == node_id:
                return voter
        return None

    def voter_of(self, key: ReplicaKey) -> Voter | None:
        """The voter that `key` is; None for an observer (VoterSet.isVoter)."""
        found = self.voter(key.node_id)
        return found if found is not None and found.matches(key) else None

    def is_voter(self, key: ReplicaKey) -> bool:
        return self.voter_of(key) is not None

    def others(self, local: ReplicaKey | None) -> tuple[Voter, ...]:
        """All voters but the local replica."""
        return tuple(v for v in self.voters if local is None or not v.matches(local))

    def with_voter(self, voter: Voter) -> VoterSet:
        """The set with `voter` added, or in the place of the one with its node id."""
        kept = [v for v in self.voters if v.key.node_id != voter.key.node_id]
        return voter_set((*kept, voter))

    def without(self, key: ReplicaKey) -> VoterSet:
        return VoterSet(tuple(voter for voter in self.voters if voter.key != key))

    def has_overlapping_majority(self, other: VoterSet) -> bool:
        """Whether every majority of one meets every majority of the other: at most one key of
        each is missing in the other (VoterSet.hasOverlappingMajority)."""
        return len(self.keys - other.keys) <= 1 and len(other.keys - self.keys) <= 1


def voter_set(voters: Iterable[Voter]) -> VoterSet:
    """A voter set from voters in any order."""
    return VoterSet(tuple(sorted(voters, key=lambda voter: voter.key.node_id)))


def without_directories(voters: VoterSet) -> VoterSet:
    """The same nodes as a static quorum knows them."""
    return VoterSet(tuple(replace(v, key=ReplicaKey(v.key.node_id)) for v in voters))


VoterKeys = frozenset[ReplicaKey]
"""The voters without their endpoints; one whose directory is ZERO_UUID matches any directory of its
node."""


@dataclass(frozen=True, slots=True)
class VotersAt:
    """The voters that a record at `offset` names: KRaftVoters (KIP-853), in force from there on, or
    LeaderChange, those of its epoch's start.

    offset: for a set read from a snapshot the snapshot's end offset - 1, as Kafka's
    KRaftControlRecordStateMachine has it (-1 for the bootstrap snapshot 0-0).
    epoch: of the record's batch, or of the snapshot.
    """

    offset: int
    epoch: int
    voters: VoterKeys
