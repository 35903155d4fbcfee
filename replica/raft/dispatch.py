"""From a message to its handler: one table for requests, one for responses.

What all responses have in common comes first: whether they are waited for, and what they say about
epoch and leader (KafkaRaftClient.maybeHandleCommonResponse).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from replica.errors import KraftlakeError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.raft.core import Core
from replica.raft.describe import handle_describe_quorum
from replica.raft.draft import handle_fetch_quorum_records
from replica.raft.elections import (
    handle_pre_vote_unsupported,
    handle_vote_request,
    handle_vote_response,
)
from replica.raft.epoch_bounds import MAX_EPOCH
from replica.raft.epochs import handle_begin, handle_end, handle_end_response
from replica.raft.fetching import handle_fetch_response, handle_fetch_snapshot_response
from replica.raft.inputs import Failed, Request, Response
from replica.raft.membership import (
    handle_add_voter,
    handle_api_versions,
    handle_remove_voter,
    handle_update_features,
    handle_update_voter,
)
from replica.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchQuorumRecordsRequest,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    PeerRequest,
    PeerResponse,
    RemoveVoterRequest,
    UpdateFeaturesRequest,
    UpdateVoterRequest,
    VoterChangeResponse,
    VoteRequest,
    VoteResponse,
)
from replica.raft.requests import is_of_other_cluster
from replica.raft.serving import handle_fetch_request, handle_fetch_snapshot_request
from replica.raft.voter_updates import handle_change_response, handle_update_voter_response


class ClusterAuthorizationError(KraftlakeError):
    """A peer refuses this replica altogether; no retry will change that (B48)."""


def handle_request(core: Core, event: Request) -> None:
    """Answer a peer, now or later."""
    if is_of_other_cluster(core, event.message):
        core.refuse(event.request_id, event.message, ErrorCode.INCONSISTENT_CLUSTER_ID)
        return
    _REQUESTS[type(event.message)](core, event.request_id, event.message)


def handle_response(core: Core, event: Response) -> None:
    """Learn what a peer says, if it is still waited for."""
    if not core.connections.expects(event.node_id, event.correlation_id, core.now):
        return
    asked = core.connections.asked(event.node_id)
    core.connections.answered(event.node_id, well=True, now_ms=core.now)
    if isinstance(asked, AddVoterRequest | RemoveVoterRequest):
        is_good = _handle_change(core, event.message)
    else:
        is_good = _handle(core, event.node_id, event.message)
    if not is_good:
        core.connections.answered(event.node_id, well=False, now_ms=core.now)


def handle_failed(core: Core, event: Failed) -> None:
    """No answer will come."""
    if not core.connections.expects(event.node_id, event.correlation_id, core.now):
        return
    core.connections.answered(event.node_id, well=False, now_ms=core.now)
    _check_authorized(event.error)
    if event.error is ErrorCode.UNSUPPORTED_VERSION:
        handle_pre_vote_unsupported(core)
    handle_api_versions(core, event.node_id, None)


def _handle_change(core: Core, message: PeerResponse) -> bool:
    return isinstance(message, VoterChangeResponse) and handle_change_response(core, message)


def _handle(core: Core, node_id: int, message: PeerResponse) -> bool:
    _check_authorized(message.error)
    if isinstance(message, ApiVersionsResponse):
        return handle_api_versions(core, node_id, message)
    if isinstance(message, VoteResponse) and message.error is ErrorCode.UNSUPPORTED_VERSION:
        handle_pre_vote_unsupported(core)
        return True
    if message.error in _WITHOUT_EPOCH and message.epoch < 0:
        return False
    handled = _learn_from(core, message)
    if handled is not None:
        return handled
    return _RESPONSES[type(message)](core, node_id, message)


def _learn_from(core: Core, message: PeerResponse) -> bool | None:
    """What any answer says about the epoch; None where its own handler goes on.

    Who learned nothing waits before it asks the same again, or it would spin. Who knows no epoch
    yet believes whatever epoch the one has whom it asked: a quorum may be old.
    """
    if message.epoch < core.role.epoch or message.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        return False
    epoch, leader_id = message.epoch, message.leader_id
    is_first = core.role.epoch == 0 and epoch <= MAX_EPOCH
    if not is_first and not core.explains(epoch):
        return False
    is_consistent = core.has_consistent_leader(epoch, leader_id)
    if not is_consistent and not core.may_be_former_self(epoch, leader_id):
        core.illegal["a second leader of one epoch"] += 1
        return False
    known = core.role
    refused = message.error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if message.epoch > core.role.epoch or refused:
        core.learn(message.epoch, message.leader_id, message.leader_endpoints)
        return core.role is not known
    if message.leader_id != NO_NODE and core.role.leader_id == NO_NODE:
        core.learn(message.epoch, message.leader_id, message.leader_endpoints)
        return None if message.error is ErrorCode.NONE else core.role is not known
    return False if message.error is ErrorCode.INVALID_VOTER_KEY else None


def _check_authorized(error: ErrorCode) -> None:
    if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise ClusterAuthorizationError("a peer refuses this replica: CLUSTER_AUTHORIZATION_FAILED")


def _is_fine(core: Core, node_id: int, message: PeerResponse) -> bool:
    return message.error is ErrorCode.NONE


_WITHOUT_EPOCH = (
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.INCONSISTENT_CLUSTER_ID,
    ErrorCode.INVALID_REQUEST,
)

_REQUESTS: dict[type[PeerRequest], Callable[[Core, Hashable, Any], None]] = {
    VoteRequest: handle_vote_request,
    BeginQuorumEpochRequest: handle_begin,
    EndQuorumEpochRequest: handle_end,
    FetchRequest: handle_fetch_request,
    FetchSnapshotRequest: handle_fetch_snapshot_request,
    FetchQuorumRecordsRequest: handle_fetch_quorum_records,
    AddVoterRequest: handle_add_voter,
    RemoveVoterRequest: handle_remove_voter,
    UpdateVoterRequest: handle_update_voter,
    UpdateFeaturesRequest: handle_update_features,
    DescribeQuorumRequest: handle_describe_quorum,
    ApiVersionsRequest: lambda core, request_id, request: _tell_versions(core, request_id),
}

_RESPONSES: dict[type[PeerResponse], Callable[[Core, int, Any], bool]] = {
    VoteResponse: handle_vote_response,
    BeginQuorumEpochResponse: _is_fine,
    EndQuorumEpochResponse: lambda core, node_id, message: handle_end_response(core, node_id),
    FetchResponse: lambda core, node_id, message: handle_fetch_response(core, message),
    FetchSnapshotResponse: lambda core, node_id, message: handle_fetch_snapshot_response(
        core, message
    ),
    VoterChangeResponse: lambda core, node_id, message: handle_update_voter_response(core, message),
}


def _tell_versions(core: Core, request_id: Hashable) -> None:
    local = core.local
    response = ApiVersionsResponse(
        min_kraft_version=0 if local is None else local.min_kraft_version,
        max_kraft_version=0 if local is None else local.max_kraft_version,
    )
    core.reply(request_id, core.signed(response))
