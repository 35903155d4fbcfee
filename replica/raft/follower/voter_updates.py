"""How a follower has its own entry in the voter set changed (KIP-853, KIP-1186).

A voter tells its leader its endpoints and versions (UpdateRaftVoter). An observer that may join
first asks to remove its own node with an older directory from the voters (RemoveRaftVoter), then
asks to be added itself (AddRaftVoter). Both kinds of replica ask when the update timer ends, in
place of a fetch. Each request restarts the timer. Kafka: pollFollowerAsVoter,
pollFollowerAsObserver.
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
"""The errors of answers to AddRaftVoter and RemoveRaftVoter which say that the change is done or
can't be done now. After such an answer the observer waits before it asks again."""


def update(core: Core, role: Follower) -> UpdateVoterRequest | None:
    """The request that tells the leader this voter's endpoints and versions. None if the leader
    knows both, or if this replica isn't a voter.

    At kraft.version 1 a voter sends the request if its entry in the voter set has other endpoints
    or versions. At kraft.version 0 the log has neither endpoints nor versions. The voter then sends
    both once to each new leader, which needs both for an upgrade to kraft.version 1.
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
    return UpdateVoterRequest(epoch=role.epoch, voter=local)


def change_to_join(core: Core, role: Follower) -> PeerRequest | None:
    """The next request of an observer that wants to become a voter; None while nothing is to be
    sent.

    The observer has to be caught up: an older log may name voters that were removed since, and a
    leader doesn't add a replica that lags behind. (Kafka's observer leaves this check to the
    leader.) A replica that was a voter since it started doesn't ask again, so that an administrator
    can remove it. Kafka's observer asks again, so Kafka's documentation says to stop the node
    before its removal.
    """
    local = core.local
    if not may_join(core) or local is None or not is_caught_up(core, role):
        return None
    older = core.log.voters.voter(local.key.node_id)
    if older is not None:
        return RemoveVoterRequest(voter=older.key)
    return AddVoterRequest(
        voter=local.key,
        endpoints=local.endpoints,
        timeout_ms=core.config.request_timeout_ms,
        ack_when_committed=False,
    )


def may_join(core: Core) -> bool:
    """Whether this replica is an observer that should make itself a voter."""
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
    """Whether this replica has all records below the high watermark that its leader named."""
    if role.fetching is not None or core.truncating or role.leader_watermark is None:
        return False
    return core.log.log_end >= role.leader_watermark


def remember_joining(core: Core) -> None:
    """Note that this replica has joined: a committed voter set names this replica, and the replica
    is caught up."""
    role = core.role
    if core.has_joined or not core.is_voter:
        return
    is_current = isinstance(role, Leader) or (
        isinstance(role, Follower) and is_caught_up(core, role)
    )
    written_at = core.log.voters_offset
    if is_current and (written_at is None or written_at < (core.committed or 0)):
        core.remember_joining()


def next_update(core: Core) -> int:
    """The time (ms) at which an update timer that begins now ends (Kafka: updateVoterPeriodMs)."""
    return core.now + 3 * core.config.fetch_timeout_ms


def handle_update_voter_response(core: Core, response: VoterChangeResponse) -> bool:
    """Note that the leader knows this voter's endpoints and versions. At kraft.version 0 an older
    leader answers UNSUPPORTED_VERSION, which also counts as good. Returns whether the answer was
    good."""
    role = core.role
    if not isinstance(role, Follower):
        return True
    if response.error in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_VERSION):
        core.keep(replace(role, has_updated_leader=True))
        return True
    return False


def handle_change_response(core: Core, response: VoterChangeResponse) -> bool:
    """Handle the answer to this replica's request for an addition or a removal. Returns whether the
    answer was good.

    On the wire this answer has neither epoch nor leader. This replica learns the voters from the
    log, and asks again when the update timer ends. If the leader refuses because this replica's
    principal may not change the voters, the replica still follows that leader.
    """
    if response.error not in _TAKEN:
        return False
    if isinstance(core.role, Follower):
        core.keep(replace(core.role, update_voter_deadline=next_update(core)))
    return True
