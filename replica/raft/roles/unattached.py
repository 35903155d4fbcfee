"""Unattached: knows an epoch, perhaps its vote or its leader's id, but follows nobody yet."""

from __future__ import annotations

from dataclasses import dataclass

from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoints
from replica.raft.config import FOREVER


@dataclass(frozen=True, slots=True)
class Unattached:
    """election_deadline: ms; FOREVER for an observer, which stands in no election (C45).

    leader_id: set where the leader is known by its id alone, without endpoints (I02).
    """

    epoch: int
    election_deadline: int = FOREVER
    leader_id: int = NO_NODE
    voted: ReplicaKey | None = None

    @property
    def leader_endpoints(self) -> Endpoints:
        return ()

    def grants(self, candidate: ReplicaKey, *, is_log_newer: bool, pre_vote: bool) -> bool:
        return grants_undecided(self.leader_id, self.voted, candidate, is_log_newer, pre_vote)


def grants_undecided(
    leader_id: int,
    voted: ReplicaKey | None,
    candidate: ReplicaKey,
    is_log_newer: bool,
    pre_vote: bool,
) -> bool:
    """The answer of a replica that follows nobody.

    is_log_newer: the candidate's log is at least as up to date. One vote in an epoch: who has it
    gets it again whatever its log (C31), nobody else. A vote without directory is for all of that
    node (C30). An epoch that has a leader elects no other (C32). Pre-votes bind nothing (D06).
    """
    if pre_vote:
        return is_log_newer
    if voted is not None:
        if voted.node_id != candidate.node_id:
            return False
        return voted.directory_id in (ZERO_UUID, candidate.directory_id)
    return leader_id == NO_NODE and is_log_newer
