"""Checks that several requests share. Kafka: validateLeaderOnlyRequest, isValidVoterKey."""

from __future__ import annotations

from replica.history.fetch import FencedLeaderEpoch, validate_leader_epoch
from replica.raft.core import Core
from replica.raft.messages import Error, PeerRequest
from replica.raft.roles.leader import Leader
from replica.types import ReplicaKey


def is_of_other_cluster(core: Core, request: PeerRequest) -> bool:
    """Naming no cluster is fine, an empty or another name isn't (B16, E29)."""
    return request.cluster_id not in (None, core.config.cluster_id)


def is_for_other_voter(core: Core, voter: ReplicaKey | None) -> bool:
    """Whether a request means another replica, as one whose disk was wiped since (C14, E11)."""
    return voter is not None and not core.is_local(voter)


def leader_only_error(core: Core, epoch: int) -> Error | None:
    """Why the local replica can't answer as leader of `epoch`; None where it can."""
    mismatch = validate_leader_epoch(core.role.epoch, epoch)
    if mismatch is not None:
        fenced = isinstance(mismatch, FencedLeaderEpoch)
        return Error.FENCED_LEADER_EPOCH if fenced else Error.UNKNOWN_LEADER_EPOCH
    if not isinstance(core.role, Leader):
        return Error.NOT_LEADER_OR_FOLLOWER
    return None
