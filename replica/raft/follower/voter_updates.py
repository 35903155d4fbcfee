"""What a follower asks its leader to change in the voter set about itself (KIP-853, KIP-1186).

A voter tells its endpoints and versions (UpdateRaftVoter). An observer that may join has its older
self removed, which is its node with another directory (RemoveRaftVoter), then itself added
(AddRaftVoter). Each asks when its update timer ends, in the place of a fetch, and the timer begins
anew with each request. Kafka: pollFollowerAsVoter, pollFollowerAsObserver.
"""

from __future__ import annotations

from dataclasses import replace

from replica.model.kafka_errors import ErrorCode
from replica.raft.core import Core
from replica.raft.messages import (
    AddVoterRequest,
    PeerRequest,
    RemoveVoterRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from replica.raft.roles import Follower, Leader

_TAKEN = (
    ErrorCode.NONE,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.DUPLICATE_VOTER,
    ErrorCode.VOTER_NOT_FOUND,
)
"""Answers to an addition or a removal after which the same request is not repeated at once: it was
done, or can't be done now."""


def update(core: Core, role: Follower) -> UpdateVoterRequest | None:
    """What a voter tells its leader; None where the leader knows it.

    At kraft.version 1: where the voter set has other endpoints or versions. At 0, where no log
    holds them: each leader is told once, so that it can upgrade.
    """
    local = core.local
    if not core.is_voter or local is None:
        return None
    if core.log.kraft_version == 0:
        is_known = role.has_updated_leader
    else:
        is_known = core.log.voters.voter_of(local.key) == local
    if is_known:
        return None
    return UpdateVoterRequest(cluster_id=core.config.cluster_id, epoch=role.epoch, voter=local)


def change_to_join(core: Core, role: Follower) -> PeerRequest | None:
    """What an observer asks of its leader on its way into the voter set; None for nothing now.

    It has to be caught up: its log could name voters that are none any more, and the leader adds
    nobody who lags behind (Kafka's observer leaves that to the leader). Once it was a voter it asks
    no more while it runs: who removes it then means it. Kafka's would ask again, and its
    documentation says to stop the node first.
    """
    local, cluster_id = core.local, core.config.cluster_id
    if not may_join(core) or local is None or not is_caught_up(core, role):
        return None
    older = core.log.voters.voter(local.key.node_id)
    if older is not None:
        return RemoveVoterRequest(cluster_id=cluster_id, voter=older.key)
    return AddVoterRequest(
        cluster_id=cluster_id,
        voter=local.key,
        endpoints=local.endpoints,
        timeout_ms=core.config.request_timeout_ms,
        ack_when_committed=False,
    )


def may_join(core: Core) -> bool:
    """Whether this replica makes itself a voter where the voter set lacks it."""
    local = core.local
    can_vote = local is not None and bool(local.endpoints)
    return (
        core.config.auto_join
        and can_vote
        and core.log.kraft_version > 0
        and not core.is_voter
        and not core.has_joined
    )


def is_caught_up(core: Core, role: Follower) -> bool:
    """Whether it has all that its leader said to be committed."""
    if role.fetching is not None or core.truncating or role.leader_watermark is None:
        return False
    return core.log.log_end >= role.leader_watermark


def remember_joining(core: Core) -> None:
    """Note that this replica is a voter now, by the newest committed set as far as it can know."""
    role = core.role
    if core.has_joined or not core.is_voter:
        return
    is_current = isinstance(role, Leader) or (
        isinstance(role, Follower) and is_caught_up(core, role)
    )
    written_at = core.log.voters_offset
    core.has_joined = is_current and (written_at is None or written_at < (core.committed or 0))


def next_update(core: Core) -> int:
    """When the update timer ends that begins now, in ms (Kafka: updateVoterPeriodMs)."""
    return core.now + 3 * core.config.fetch_timeout_ms


def handle_update_voter_response(core: Core, response: VoterChangeResponse) -> bool:
    """An old leader refuses with UNSUPPORTED_VERSION at kraft.version 0; that is an answer too."""
    role = core.role
    if not isinstance(role, Follower):
        return True
    if response.error in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
        core.keep(replace(role, has_updated_leader=True))
        return True
    return False


def handle_change_response(core: Core, response: VoterChangeResponse) -> bool:
    """To an addition or a removal of its own; whether the leader took it.

    Whatever it says, the log says who votes, and the timer when to ask again. An answer on the wire
    has neither epoch nor leader. A leader that doesn't let this principal change the voters is
    followed all the same.
    """
    if response.error not in _TAKEN:
        return False
    if isinstance(core.role, Follower):
        core.keep(replace(core.role, update_voter_deadline=next_update(core)))
    return True
