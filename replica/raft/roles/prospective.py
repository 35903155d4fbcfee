"""Prospective: asks whether a new epoch would be won before it raises its own (KIP-996)."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoints
from replica.raft.roles.tally import Tally
from replica.raft.roles.unattached import grants_undecided


@dataclass(frozen=True, slots=True)
class Prospective:
    """leader_id, leader_endpoints: of the leader it lost touch with and may go back to (D12)."""

    epoch: int
    tally: Tally
    election_deadline: int
    leader_id: int = NO_NODE
    leader_endpoints: Endpoints = ()
    voted: ReplicaKey | None = None

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        return grants_undecided(self.leader_id, self.voted, candidate, is_log_newer, pre_vote)
