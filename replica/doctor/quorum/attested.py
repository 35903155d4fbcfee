"""The epochs in which a replica is known to have led or voted, by records and by the files of other
replicas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from replica.model.keys import ReplicaKey
from replica.model.voters import VoterKeys

EpochOf = tuple[ReplicaKey, int]
"""A replica, and an epoch in which it led or voted. A key without a directory (ZERO_UUID) means any
directory of its node."""


def by_election(
    epoch: int, leader_id: int, voters: VoterKeys, granting: VoterKeys
) -> Iterator[EpochOf]:
    """The facts from a LeaderChange record: its leader, with the directory that the record's voters
    name, and the voters that granted their votes.

    A replica persists its vote before it grants it, and a candidate persists its own vote before it
    asks for votes (Kafka: QuorumState.transitionTo).
    """
    for key in {key for key in voters if key.node_id == leader_id} | granting:
        yield key, epoch


def by_quorum_state(
    epoch: int, voted: ReplicaKey | None, leader_id: int | None, *, is_static: bool
) -> Iterator[EpochOf]:
    """The facts from a quorum-state: the candidate of its replica's vote, and the leader. voted,
    leader_id: None if the file names none. The file names a leader without a directory, so the
    leader counts only in a static quorum."""
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
