"""Resigned: led this epoch and no longer does; tells the voters and waits for a new epoch."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import ReplicaKey
from replica.model.voters import Endpoints


@dataclass(frozen=True, slots=True)
class Resigned:
    """leader_id: the local node's, still the leader of record of its epoch (E21).

    unacked: voters that have not answered EndQuorumEpoch. voted: nothing is kept of it, the leader
    says it all.
    """

    epoch: int
    leader_id: int
    leader_endpoints: Endpoints
    election_deadline: int
    unacked: frozenset[int]
    preferred_successors: tuple[ReplicaKey, ...] = ()
    voted: ReplicaKey | None = None

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        """Its vote of this epoch went to itself (E23); a pre-vote looks at the next (D07)."""
        return pre_vote and is_log_newer
