"""Candidate: has voted for itself in its epoch and asks the other voters to do the same."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoints
from replica.raft.roles.tally import Tally


@dataclass(frozen=True, slots=True)
class Candidate:
    """voted: the local key. A lost election is waited out, so that others may try (C21)."""

    epoch: int
    tally: Tally
    election_deadline: int
    voted: ReplicaKey

    @property
    def leader_id(self) -> int:
        return NO_NODE

    @property
    def leader_endpoints(self) -> Endpoints:
        return ()

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        """Its vote is its own (C16); a pre-vote costs nothing (D07)."""
        return pre_vote and is_log_newer
