"""What quorum-state holds, and what of it a state machine is told."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import NO_NODE, ReplicaKey


@dataclass(frozen=True, slots=True)
class ElectionState:
    """What a replica must never forget: its epoch, its vote, its leader (Kafka: ElectionState).

    leader_id: NO_NODE where there is none. voted: None where it didn't vote; its directory id is
    ZERO_UUID where the file or the candidate had none. kraft_version chooses the file's form: 0
    writes `voter_ids` and drops the directory of the vote, 1 the other way round.
    """

    epoch: int
    leader_id: int = NO_NODE
    voted: ReplicaKey | None = None
    kraft_version: int = 1
    voter_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LeaderAndEpoch:
    """leader_id is NO_NODE while the epoch's leader is unknown."""

    leader_id: int
    epoch: int
