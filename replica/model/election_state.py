"""The content of quorum-state, and the part of it that a state machine is told."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import NO_NODE, ReplicaKey


@dataclass(frozen=True, slots=True)
class ElectionState:
    """A replica's epoch, vote and leader, which it must never forget (Kafka: ElectionState).

    leader_id: NO_NODE for none. voted: the candidate that has the replica's vote in this epoch,
    None for none; with the directory ZERO_UUID where the file or the candidate had none.
    kraft_version: chooses the file's form, which at 0 has `voter_ids` and no directory of the vote,
    and at 1 that directory and no `voter_ids`.
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
