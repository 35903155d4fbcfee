"""Voter sets (KIP-853): the voters, their endpoints, and the kraft.version that they support.

A voter without a directory id (ZERO_UUID, kraft.version 0) matches any directory of its node.
Kafka: VoterSet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from replica.model.keys import ReplicaKey


@dataclass(frozen=True, slots=True, order=True)
class Endpoint:
    """The host and port of a node's listener."""

    name: str
    """The name of the listener."""
    host: str
    port: int


Endpoints = tuple[Endpoint, ...]


@dataclass(frozen=True, slots=True)
class Voter:
    """A voter: its key, its endpoints, and the kraft.versions that it supports."""

    key: ReplicaKey
    endpoints: Endpoints = ()
    min_kraft_version: int = 0
    """The lowest kraft.version that the voter supports (inclusive)."""
    max_kraft_version: int = 1
    """The highest kraft.version that the voter supports (inclusive)."""

    def matches(self, key: ReplicaKey) -> bool:
        """Whether `key` is this voter: it has the same node, and the voter's directory if known."""
        return self.key.matches(key)

    def supports(self, kraft_version: int) -> bool:
        return self.min_kraft_version <= kraft_version <= self.max_kraft_version


@dataclass(frozen=True, slots=True)
class VoterSet:
    """Voters sorted by node id, one for each id. `voter_set` makes a set from voters in any
    order."""

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
        """The voter with this key; None for an observer (VoterSet.isVoter)."""
        found = self.voter(key.node_id)
        return found if found is not None and found.matches(key) else None

    def is_voter(self, key: ReplicaKey) -> bool:
        return self.voter_of(key) is not None

    def others(self, local: ReplicaKey | None) -> tuple[Voter, ...]:
        """All voters except the local replica."""
        return tuple(v for v in self.voters if local is None or not v.matches(local))

    def with_voter(self, voter: Voter) -> VoterSet:
        """The set with `voter`, which replaces the voter with the same node id."""
        kept = [v for v in self.voters if v.key.node_id != voter.key.node_id]
        return voter_set((*kept, voter))

    def without(self, key: ReplicaKey) -> VoterSet:
        return VoterSet(tuple(voter for voter in self.voters if voter.key != key))

    def has_overlapping_majority(self, other: VoterSet) -> bool:
        """Whether every majority of one set overlaps every majority of the other. The result is
        True if each set lacks at most one key of the other (VoterSet.hasOverlappingMajority)."""
        return len(self.keys - other.keys) <= 1 and len(other.keys - self.keys) <= 1


def voter_set(voters: Iterable[Voter]) -> VoterSet:
    """A voter set from voters in any order."""
    return VoterSet(tuple(sorted(voters, key=lambda voter: voter.key.node_id)))


def without_directories(voters: VoterSet) -> VoterSet:
    """The same voters without directories, in the form that a static quorum has."""
    return VoterSet(tuple(replace(v, key=ReplicaKey(v.key.node_id)) for v in voters))


def majority(voters: int) -> int:
    """The smallest number that is more than half of `voters`."""
    return voters // 2 + 1


def is_blocking(some: int, voters: int) -> bool:
    """Whether `voters` without `some` of them have no majority, so that nobody is elected and
    nothing is committed. If the number of voters is even, half of the voters are enough."""
    return voters - some < majority(voters)


VoterKeys = frozenset[ReplicaKey]
"""Voters without their endpoints. A key with the directory ZERO_UUID matches any directory of its
node."""


@dataclass(frozen=True, slots=True)
class VotersAt:
    """The voters that a record at `offset` names. A KRaftVoters record (KIP-853) names the voters
    in force from this offset on. A LeaderChange record names the voters at the start of its
    epoch."""

    offset: int
    """The offset of the record. For a snapshot's voters, the offset is the snapshot's end offset -
    1, as in Kafka's KRaftControlRecordStateMachine (-1 for the bootstrap snapshot 0-0)."""
    epoch: int
    """The epoch of the record's batch, or of the snapshot."""
    voters: VoterKeys
