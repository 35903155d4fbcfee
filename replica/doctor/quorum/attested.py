"""The epochs in which a replica is known to have led or voted, by records and by the files of other
replicas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replica.model.keys import ReplicaKey
from replica.model.voters import VoterKeys

EpochOf = tuple[ReplicaKey, int]
"""A replica, and an epoch in which it led or voted. A key without a directory (ZERO_UUID) is any
directory of its node."""


def by_election(
    epoch: int, leader_id: int, voters: VoterKeys, granting: VoterKeys
) -> Iterator[EpochOf]:
    """What a LeaderChange record shows: its leader, which has the directory that the record's
    voters name, and the voters that granted their votes.

    A replica persists its vote before it grants it, and a candidate its own before it asks for
    others (Kafka: QuorumState.transitionTo).
    """
    for key in {key for key in voters if key.node_id == leader_id} | granting:
        yield key, epoch


def by_quorum_state(
    epoch: int, voted: ReplicaKey | None, leader_id: int | None, *, is_static: bool
) -> Iterator[EpochOf]:
    """What a quorum-state shows: for whom its replica voted, and who led. voted, leader_id: None
    where the file names none. The file names a leader without a directory, so the leader counts in
    a static quorum only."""
    if voted is not None:
        yield voted, epoch
    if is_static and leader_id is not None:
        yield ReplicaKey(leader_id), epoch


def newest_epochs(shown: Iterable[EpochOf]) -> dict[ReplicaKey, int]:
    """The newest epoch of each replica."""
    newest: dict[ReplicaKey, int] = {}
    for key, epoch in shown:
        newest[key] = max(epoch, newest.get(key, epoch))
    return newest
