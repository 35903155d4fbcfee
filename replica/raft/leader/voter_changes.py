"""Changes of the voter set, one voter at a time, and the upgrade of kraft.version (KIP-853).

A voter set is in force from its append on. The request is answered when the new set is committed,
or with REQUEST_TIMED_OUT, which doesn't undo the append. Kafka: AddVoterHandler,
RemoveVoterHandler, UpdateVoterHandler, KRaftVersionUpgrade (4.1); scenarios H of tests/scenarios.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from replica.model.control import ControlRecord, KRaftVersion, KRaftVoters
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoints, Voter, VoterSet, voter_set
from replica.raft.core import Core
from replica.raft.leader.leading import with_updated
from replica.raft.leader.replication import append_control, finish_change
from replica.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    PeerRequest,
    RemoveVoterRequest,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from replica.raft.request_checks import leader_only_error
from replica.raft.roles import ChangeKind, Leader, PendingChange, ReplicaProgress

CAUGHT_UP_WITHIN_MS = 3_600_000
"""A replica that is to become a voter must have fetched within this time, and must have been caught
up at some time (LeaderState.isReplicaCaughtUp)."""

NEWEST_KRAFT_VERSION = 1


def handle_add_voter(core: Core, request_id: Hashable, request: AddVoterRequest) -> None:
    """Ask the new voter for the kraft.versions that it supports. Once it answers,
    `handle_api_versions` appends the voter set."""
    if _refuse_unready(core, request_id, request):
        return
    if (
        request.voter.node_id < 0
        or request.voter.directory_id == ZERO_UUID
        or not _has_default_listener(core, request.endpoints)
    ):
        message = f"a voter needs an id, a directory id and the listener {_listener(core)}"
        _refuse(core, request_id, ErrorCode.INVALID_REQUEST, message)
        return
    known = core.log.voters.voter(request.voter.node_id)
    if known is not None:
        message = f"node {known.key.node_id} is a voter, with directory {known.key.directory_id}"
        _refuse(core, request_id, ErrorCode.DUPLICATE_VOTER, message)
        return
    if not core.connections.is_ready(request.voter.node_id, core.now):
        message = f"node {request.voter.node_id} can't be asked for its versions now: try again"
        _refuse(core, request_id, ErrorCode.REQUEST_TIMED_OUT, message)
        return
    voter = Voter(request.voter, request.endpoints)
    core.send(request.voter.node_id, request.endpoints, ApiVersionsRequest())
    change = PendingChange(
        ChangeKind.ADD_VOTER,
        request_id,
        _deadline(core, request.timeout_ms),
        voter,
        ack_when_committed=request.ack_when_committed,
    )
    core.keep(replace(core.leader, change=change))


def handle_api_versions(core: Core, node_id: int, response: ApiVersionsResponse | None) -> bool:
    """Append the voter set with the new voter, if the new voter supports the kraft.version in force
    and is caught up; else refuse. response: None where no answer came."""
    role = core.role
    change = role.change if isinstance(role, Leader) else None
    if change is None or change.voter is None or change.last_offset is not None:
        return True
    if change.voter.key.node_id != node_id:
        return True
    if response is None or response.error is not ErrorCode.NONE:
        message = f"node {node_id} doesn't say which kraft.version it supports"
        finish_change(core, ErrorCode.REQUEST_TIMED_OUT, message)
        return False
    voter = replace(
        change.voter,
        min_kraft_version=response.min_kraft_version,
        max_kraft_version=response.max_kraft_version,
    )
    if not voter.supports(core.log.kraft_version):
        message = f"the new voter doesn't support kraft.version {core.log.kraft_version}"
        finish_change(core, ErrorCode.INVALID_REQUEST, message)
    elif not _is_caught_up(core, voter.key):
        finish_change(core, ErrorCode.REQUEST_TIMED_OUT, "the new voter lags behind")
    else:
        last = _append_voters(core, core.log.voters.with_voter(voter))
        _set_last_offset(core, replace(change, voter=voter), last)
        if not change.ack_when_committed:
            _answer_early(core)
    return True


def handle_remove_voter(core: Core, request_id: Hashable, request: RemoveVoterRequest) -> None:
    """Append the voter set without this voter. The leader itself may be removed, but not the last
    voter."""
    if _refuse_unready(core, request_id, request):
        return
    voters = core.log.voters
    if request.voter not in voters.keys or len(voters) == 1:
        message = f"{_name(request.voter)} is no voter, or the only one"
        _refuse(core, request_id, ErrorCode.VOTER_NOT_FOUND, message)
        return
    _begin_change(core, request_id, ChangeKind.REMOVE_VOTER, request.timeout_ms)
    change = core.leader.change
    assert change is not None
    _set_last_offset(core, change, _append_voters(core, voters.without(request.voter)))


def handle_update_voter(core: Core, request_id: Hashable, request: UpdateVoterRequest) -> None:
    """Append the voter set with the voter's new entry, and answer at once. At kraft.version 0 the
    leader only remembers the entry, for an upgrade."""
    error = leader_only_error(core, request.epoch)
    if error is not None:
        core.refuse(request_id, request, error)
        return
    voter = request.voter
    if voter.key.directory_id == ZERO_UUID or not _has_default_listener(core, voter.endpoints):
        message = f"a voter needs a directory id and the listener {_listener(core)}"
        _refuse(core, request_id, ErrorCode.INVALID_REQUEST, message)
        return
    if core.log.kraft_version == 0:
        _learn(core, request_id, voter)
        return
    if _refuse_unready(core, request_id, request):
        return
    if not voter.supports(core.log.kraft_version):
        message = f"the voter doesn't support kraft.version {core.log.kraft_version}"
        _refuse(core, request_id, ErrorCode.INVALID_REQUEST, message)
        return
    if voter.key not in core.log.voters.keys:
        _refuse(core, request_id, ErrorCode.VOTER_NOT_FOUND, f"{_name(voter.key)} is no voter")
        return
    updated = with_updated(core.log.voters, voter)
    if updated != core.log.voters:
        _append_voters(core, updated)
    core.reply(request_id, core.signed(VoterChangeResponse()))


def handle_update_features(
    core: Core, request_id: Hashable, request: UpdateFeaturesRequest
) -> None:
    """Finalize kraft.version 1: append it and the voters with their directories in one batch."""
    if _refuse_unready(core, request_id, request):
        return
    current, wanted = core.log.kraft_version, request.kraft_version
    if not current <= wanted <= NEWEST_KRAFT_VERSION:
        message = f"kraft.version is {current}: it can't be lowered, or raised above 1"
        _refuse(core, request_id, ErrorCode.INVALID_UPDATE_VERSION, message)
        return
    voters = _learned_voters(core)
    if wanted > current and (voters is None or not all(v.supports(wanted) for v in voters)):
        message = f"not all voters have told their directory ids and support kraft.version {wanted}"
        _refuse(core, request_id, ErrorCode.INVALID_UPDATE_VERSION, message)
        return
    if wanted == current or request.validate_only or voters is None:
        core.reply(request_id, core.signed(VoterChangeResponse()))
        return
    _begin_change(core, request_id, ChangeKind.UPGRADE, core.config.request_timeout_ms)
    change = core.leader.change
    assert change is not None
    records: list[ControlRecord] = [KRaftVersion(wanted), KRaftVoters(voters)]
    _set_last_offset(core, change, append_control(core, *records))


def _refuse_unready(core: Core, request_id: Hashable, request: PeerRequest) -> bool:
    """Refuse unless this leader has committed a record of its epoch, no change is pending, and the
    voters in force are committed. Returns whether the request was refused."""
    role = core.role
    if not isinstance(role, Leader):
        core.refuse(request_id, request, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return True
    is_upgrade = isinstance(request, UpdateFeaturesRequest)
    if role.change is not None:
        _refuse(core, request_id, ErrorCode.REQUEST_TIMED_OUT, "another change is pending")
    elif role.high_watermark is None:
        _refuse(
            core, request_id, ErrorCode.REQUEST_TIMED_OUT, "nothing is committed in this epoch yet"
        )
    elif core.log.kraft_version == 0 and not is_upgrade:
        _refuse(core, request_id, ErrorCode.UNSUPPORTED_VERSION, "kraft.version is 0")
    elif (core.log.voters_offset or 0) >= role.high_watermark:
        _refuse(core, request_id, ErrorCode.REQUEST_TIMED_OUT, "the voters are not committed yet")
    else:
        return False
    return True


def _refuse(core: Core, request_id: Hashable, error: ErrorCode, message: str) -> None:
    core.reply(request_id, core.signed(VoterChangeResponse(error=error, message=message)))


def _begin_change(core: Core, request_id: Hashable, kind: ChangeKind, timeout_ms: int) -> None:
    """Begin a change, and remember the request that waits for it."""
    change = PendingChange(kind, request_id, _deadline(core, timeout_ms))
    core.keep(replace(core.leader, change=change))


def _deadline(core: Core, timeout_ms: int) -> int:
    return core.now + max(timeout_ms, 0)


def _answer_early(core: Core) -> None:
    """Answer the request now, because it asked for an answer at the append. The change stays
    pending until the voters are committed, so that no other change begins."""
    change = core.leader.change
    if change is not None:
        core.answer_change(change, ErrorCode.NONE)
        core.keep(replace(core.leader, change=replace(change, is_answered=True)))


def _set_last_offset(core: Core, change: PendingChange, last_offset: int) -> None:
    core.keep(replace(core.leader, change=replace(change, last_offset=last_offset)))


def _append_voters(core: Core, voters: VoterSet) -> int:
    assert len(voters) > 0, "a quorum has voters"
    assert core.log.voters.has_overlapping_majority(voters), "one voter at a time"
    return append_control(core, KRaftVoters(voters))


def _is_caught_up(core: Core, key: ReplicaKey) -> bool:
    progress = core.leader.progress.get(key, ReplicaProgress())
    return progress.last_caught_up > 0 and progress.last_fetch > core.now - CAUGHT_UP_WITHIN_MS


def _learn(core: Core, request_id: Hashable, voter: Voter) -> None:
    if not core.log.voters.is_voter(voter.key):
        _refuse(core, request_id, ErrorCode.VOTER_NOT_FOUND, f"{_name(voter.key)} is no voter")
        return
    leader = core.leader
    core.keep(replace(leader, learned={**leader.learned, voter.key.node_id: voter}))
    core.reply(request_id, core.signed(VoterChangeResponse()))


def _learned_voters(core: Core) -> VoterSet | None:
    """The static voters with the directories that they have told this leader; None until all of
    them have done so."""
    learned = core.leader.learned
    found = [learned[node_id] for node_id in core.log.voters.ids if node_id in learned]
    return voter_set(found) if len(found) == len(core.log.voters) else None


def _has_default_listener(core: Core, endpoints: Endpoints) -> bool:
    return any(endpoint.name == _listener(core) for endpoint in endpoints)


def _listener(core: Core) -> str:
    return core.config.default_listener


def _name(key: ReplicaKey) -> str:
    return f"node {key.node_id} with directory {key.directory_id}"
