"""A voter tells its leader what the voter set doesn't know about it (UpdateRaftVoter, KIP-853)."""

from __future__ import annotations

from dataclasses import replace

from replica.raft.core import Core
from replica.raft.messages import Error, UpdateVoterRequest, VoterChangeResponse
from replica.raft.roles.follower import Follower


def needs_update(core: Core, role: Follower) -> bool:
    """At kraft.version 1: where the voter set has other endpoints or versions. At 0, where no log
    holds them: each leader is told once, so that it can upgrade."""
    if not core.is_voter or core.local is None:
        return False
    if core.log.kraft_version == 0:
        return not role.has_updated_leader
    return core.log.voters.voter_of(core.local.key) != core.local


def send_update(core: Core, role: Follower) -> int:
    """Returns when to look again."""
    assert core.local is not None
    request = UpdateVoterRequest(
        cluster_id=core.config.cluster_id, epoch=role.epoch, voter=core.local
    )
    return core.send(role.leader_id, role.leader_endpoints, request)


def handle_update_voter_response(core: Core, response: VoterChangeResponse) -> bool:
    """An old leader refuses with UNSUPPORTED_VERSION at kraft.version 0; that is an answer too."""
    role = core.role
    if not isinstance(role, Follower):
        return True
    if response.error in (Error.NONE, Error.UNSUPPORTED_VERSION):
        core.keep(replace(role, has_updated_leader=True))
        return True
    return False
