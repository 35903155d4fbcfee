"""Changes of the voter set, one voter at a time, and the upgrade of kraft.version (KIP-853).

A voter set is in force from its append on. A request for a change is answered when the new voter
set is committed. At the timeout of the request the answer is REQUEST_TIMED_OUT, but the append
isn't undone. Kafka: AddVoterHandler, RemoveVoterHandler, UpdateVoterHandler, KRaftVersionUpgrade
(4.1); scenarios H of tests/scenarios.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TypeAlias, assert_never

from replica.model.control import KRaftVersion, KRaftVoters
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoints, Voter, VoterSet, voter_set
from replica.raft.core import Core
from replica.raft.leader.leading import with_updated
from replica.raft.leader.replication import append_control, finish_change, progress_of
from replica.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    RemoveVoterRequest,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
)
from replica.raft.request_checks import leader_only_error
from replica.raft.roles import Leader, PendingChange, ReplicaProgress

CAUGHT_UP_WITHIN_MS = 3_600_000
"""A replica that is to become a voter must have fetched within this time (ms), and must have been
caught up at some time (LeaderState.isReplicaCaughtUp)."""

NEWEST_KRAFT_VERSION = 1

VoterChangeRequest: TypeAlias = (
    AddVoterRequest | RemoveVoterRequest | UpdateVoterRequest | UpdateFeaturesRequest
)


def handle_voter_change(core: Core, request_id: Hashable, request: VoterChangeRequest) -> None:
    """Answer a request to change the voters or kraft.version: now, or at the end of the change if
    the change has to be committed first."""
    match request:
        case AddVoterRequest():
            response = _unready(core, request) or handle_add_voter(core, request_id, request)
        case RemoveVoterRequest():
            response = _unready(core, request) or handle_remove_voter(core, request_id, request)
        case UpdateVoterRequest():
            response = handle_update_voter(core, request)
        case UpdateFeaturesRequest():
            response = _unready(core, request) or handle_update_features(core, request_id, request)
        case _:
            assert_never(request)
    if response is not None:
        core.reply(request_id, core.signed(response))


def handle_add_voter(
    core: Core, request_id: Hashable, request: AddVoterRequest
) -> VoterChangeResponse | None:
    """Ask the new voter for the kraft.versions that it supports. Once it answers,
    `handle_api_versions` appends the voter set. Returns the refusal; None if the request isn't
    refused."""
    if (
        request.voter.node_id < 0
        or request.voter.directory_id == ZERO_UUID
        or not _has_default_listener(core, request.endpoints)
    ):
        message = f"a voter needs an id, a directory id and the listener {_listener(core)}"
        return _refused(ErrorCode.INVALID_REQUEST, message)
    known = core.log.voters.voter(request.voter.node_id)
    if known is not None:
        message = f"node {known.key.node_id} is a voter, with directory {known.key.directory_id}"
        return _refused(ErrorCode.DUPLICATE_VOTER, message)
    if core.connections.sendable_at(request.voter.node_id, ApiVersionsRequest()) > core.now:
        message = f"node {request.voter.node_id} can't be asked for its versions now: try again"
        return _refused(ErrorCode.REQUEST_TIMED_OUT, message)
    core.send(request.voter.node_id, request.endpoints, ApiVersionsRequest())
    change = _new_change(core, request_id, request.timeout_ms)
    voter = Voter(request.voter, request.endpoints)
    _keep(core, replace(change, voter=voter, ack_when_committed=request.ack_when_committed))
    return None


def handle_api_versions(core: Core, node_id: int, response: ApiVersionsResponse | None) -> bool:
    """Append the voter set with the new voter, if the new voter supports the kraft.version in force
    and is caught up; else refuse. response: None if the request failed. Returns False for a bad
    answer, after which the node gets no request for a while."""
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
        change = replace(change, voter=voter, last_offset=last)
        if not change.ack_when_committed:
            # the change stays pending until the voters are committed, so that no other change
            # begins
            core.answer_change(change, ErrorCode.NONE)
            change = replace(change, is_answered=True)
        _keep(core, change)
    return True


def handle_remove_voter(
    core: Core, request_id: Hashable, request: RemoveVoterRequest
) -> VoterChangeResponse | None:
    """Append the voter set without the voter that the request names. The leader itself may be
    removed, but not the last voter. Returns the refusal; None if the request isn't refused."""
    voters = core.log.voters
    if request.voter not in voters.keys or len(voters) == 1:
        message = f"{_name(request.voter)} is no voter, or the only one"
        return _refused(ErrorCode.VOTER_NOT_FOUND, message)
    change = _new_change(core, request_id, request.timeout_ms)
    _keep(core, change)
    last = _append_voters(core, voters.without(request.voter))
    _keep(core, replace(change, last_offset=last))
    return None


def handle_update_voter(core: Core, request: UpdateVoterRequest) -> VoterChangeResponse:
    """Append the voter set with the voter's new entry, and answer at once. At kraft.version 0 the
    leader only remembers the entry, for an upgrade. Returns the answer."""
    error = leader_only_error(core, request.epoch)
    if error is not None:
        return _refused(error)
    voter, voters = request.voter, core.log.voters
    if voter.key.directory_id == ZERO_UUID or not _has_default_listener(core, voter.endpoints):
        message = f"a voter needs a directory id and the listener {_listener(core)}"
        return _refused(ErrorCode.INVALID_REQUEST, message)
    if core.log.kraft_version == 0:
        if not voters.is_voter(voter.key):
            return _refused(ErrorCode.VOTER_NOT_FOUND, f"{_name(voter.key)} is no voter")
        learned = {**core.leader.learned, voter.key.node_id: voter}
        core.keep(replace(core.leader, learned=learned))
        return VoterChangeResponse()
    refusal = _unready(core, request)
    if refusal is not None:
        return refusal
    if not voter.supports(core.log.kraft_version):
        message = f"the voter doesn't support kraft.version {core.log.kraft_version}"
        return _refused(ErrorCode.INVALID_REQUEST, message)
    if voter.key not in voters.keys:
        return _refused(ErrorCode.VOTER_NOT_FOUND, f"{_name(voter.key)} is no voter")
    updated = with_updated(voters, voter)
    if updated != voters:
        _append_voters(core, updated)
    return VoterChangeResponse()


def handle_update_features(
    core: Core, request_id: Hashable, request: UpdateFeaturesRequest
) -> VoterChangeResponse | None:
    """Finalize kraft.version 1: append kraft.version 1 and the voters with their directories in one
    batch. Returns the answer if nothing is appended, because the request is refused or changes
    nothing. Returns None if the answer has to wait for the commit."""
    current, wanted = core.log.kraft_version, request.kraft_version
    if not current <= wanted <= NEWEST_KRAFT_VERSION:
        message = f"kraft.version is {current}: it can't be lowered, or raised above 1"
        return _refused(ErrorCode.INVALID_UPDATE_VERSION, message)
    voters = _learned_voters(core)
    if wanted > current and (voters is None or not all(v.supports(wanted) for v in voters)):
        message = f"not all voters have told their directory ids and support kraft.version {wanted}"
        return _refused(ErrorCode.INVALID_UPDATE_VERSION, message)
    if wanted == current or request.validate_only or voters is None:
        return VoterChangeResponse()
    change = _new_change(core, request_id, core.config.request_timeout_ms)
    _keep(core, change)
    last = append_control(core, KRaftVersion(wanted), KRaftVoters(voters))
    _keep(core, replace(change, last_offset=last))
    return None


def _unready(core: Core, request: VoterChangeRequest) -> VoterChangeResponse | None:
    """The refusal while no change can begin. None if a change can begin: this leader has committed
    a record of its epoch, no change is pending, the voter set in force is committed, and
    kraft.version is above 0 or the request changes kraft.version."""
    role = core.role
    if not isinstance(role, Leader):
        return _refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if role.change is not None:
        return _refused(ErrorCode.REQUEST_TIMED_OUT, "another change is pending")
    if role.high_watermark is None:
        return _refused(ErrorCode.REQUEST_TIMED_OUT, "nothing is committed in this epoch yet")
    if core.log.kraft_version == 0 and not isinstance(request, UpdateFeaturesRequest):
        return _refused(ErrorCode.UNSUPPORTED_VERSION, "kraft.version is 0")
    if (core.log.voters_offset or 0) >= role.high_watermark:
        return _refused(ErrorCode.REQUEST_TIMED_OUT, "the voters are not committed yet")
    return None


def _refused(error: ErrorCode, message: str = "") -> VoterChangeResponse:
    return VoterChangeResponse(error=error, message=message)


def _new_change(core: Core, request_id: Hashable, timeout_ms: int) -> PendingChange:
    return PendingChange(request_id, core.now + max(timeout_ms, 0))


def _keep(core: Core, change: PendingChange) -> None:
    core.keep(replace(core.leader, change=change))


def _append_voters(core: Core, voters: VoterSet) -> int:
    assert len(voters) > 0, "a quorum has voters"
    assert core.log.voters.has_overlapping_majority(voters), "one voter at a time"
    return append_control(core, KRaftVoters(voters))


def _is_caught_up(core: Core, key: ReplicaKey) -> bool:
    progress = progress_of(core, key) or ReplicaProgress()
    return progress.last_caught_up > 0 and progress.last_fetch > core.now - CAUGHT_UP_WITHIN_MS


def _learned_voters(core: Core) -> VoterSet | None:
    """The static voters with the directories that they have sent to this leader; None until all
    voters have sent their directories."""
    learned = core.leader.learned
    found = [learned[node_id] for node_id in core.log.voters.ids if node_id in learned]
    return voter_set(found) if len(found) == len(core.log.voters) else None


def _has_default_listener(core: Core, endpoints: Endpoints) -> bool:
    return any(endpoint.name == _listener(core) for endpoint in endpoints)


def _listener(core: Core) -> str:
    return core.config.default_listener


def _name(key: ReplicaKey) -> str:
    return f"node {key.node_id} with directory {key.directory_id}"
