"""Hands each message to its handler.

For every response the core first checks two things: whether this replica waits for this response,
and which epoch and leader the response names (KafkaRaftClient.maybeHandleCommonResponse).
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import assert_never

from replica.errors import KraftlakeError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.raft.core import Core
from replica.raft.election import (
    handle_pre_vote_unsupported,
    handle_vote_request,
    handle_vote_response,
)
from replica.raft.epoch_bounds import MAX_EPOCH
from replica.raft.follower.fetching import (
    handle_fetch_response,
    handle_fetch_snapshot_response,
    handle_refused_snapshot,
)
from replica.raft.follower.voter_updates import handle_change_response, handle_update_voter_response
from replica.raft.inputs import Failed, Request, Response
from replica.raft.leader.describing import handle_describe_quorum
from replica.raft.leader.draft import handle_fetch_quorum_records
from replica.raft.leader.replication import handle_fetch_request, handle_fetch_snapshot_request
from replica.raft.leader.voter_changes import handle_api_versions, handle_voter_change
from replica.raft.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchQuorumRecordsRequest,
    FetchQuorumRecordsResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    PeerResponse,
    RemoveVoterRequest,
    VoterChangeResponse,
    VoteRequest,
    VoteResponse,
)
from replica.raft.mistakes import Mistake
from replica.raft.quorum_epochs import handle_begin, handle_end, handle_end_response
from replica.raft.request_checks import is_of_other_cluster
from replica.raft.roles import Unattached

_WITHOUT_EPOCH = (
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.INCONSISTENT_CLUSTER_ID,
    ErrorCode.INVALID_REQUEST,
)
"""The errors with which a response may leave out epoch and leader."""
_FAILED_REFUSAL = ErrorCode.UNKNOWN_SERVER_ERROR
"""The error that Kafka 4.4 sends, without epoch and leader, instead of every refusal of
FetchSnapshot. A refusal has no records, but FetchSnapshotResponseData.addSize fails without
records."""


class ClusterAuthorizationError(KraftlakeError):
    """A peer refuses all requests of this replica, because this replica's principal has no right to
    send them. A retry doesn't help."""


def handle_request(core: Core, event: Request) -> None:
    """Answer a peer, now or later."""
    if is_of_other_cluster(core, event.message):
        core.refuse(event.request_id, event.message, ErrorCode.INCONSISTENT_CLUSTER_ID)
        return
    request_id = event.request_id
    match event.message:
        case VoteRequest() as request:
            handle_vote_request(core, request_id, request)
        case BeginQuorumEpochRequest() as request:
            handle_begin(core, request_id, request)
        case EndQuorumEpochRequest() as request:
            handle_end(core, request_id, request)
        case FetchRequest() as request:
            handle_fetch_request(core, request_id, request)
        case FetchSnapshotRequest() as request:
            handle_fetch_snapshot_request(core, request_id, request)
        case FetchQuorumRecordsRequest() as request:
            handle_fetch_quorum_records(core, request_id, request)
        case DescribeQuorumRequest() as request:
            handle_describe_quorum(core, request_id, request)
        case ApiVersionsRequest():
            _tell_versions(core, request_id)
        case _ as request:
            handle_voter_change(core, request_id, request)


def handle_response(core: Core, event: Response) -> None:
    """Take a peer's answer, if the core still waits for it. Raises ClusterAuthorizationError and
    TruncationBelowHighWatermarkError, after which this replica must stop."""
    if not core.connections.expects(event.node_id, event.correlation_id, core.now):
        return
    asked = core.connections.asked(event.node_id)
    core.connections.forget(event.node_id)
    message = event.message
    if isinstance(asked, AddVoterRequest | RemoveVoterRequest):
        is_good = isinstance(message, VoterChangeResponse) and handle_change_response(core, message)
    else:
        is_good = _handle(core, event.node_id, message)
    if not is_good:
        core.connections.pause(event.node_id, core.now)


def handle_failed(core: Core, event: Failed) -> None:
    """Note that no answer to a request will come. Raises ClusterAuthorizationError if the peer
    refuses this replica."""
    if not core.connections.expects(event.node_id, event.correlation_id, core.now):
        return
    core.connections.pause(event.node_id, core.now)
    _check_authorized(event.error)
    if event.error is ErrorCode.UNSUPPORTED_VERSION:
        handle_pre_vote_unsupported(core)
    handle_api_versions(core, event.node_id, None)


def _handle(core: Core, node_id: int, message: PeerResponse) -> bool:
    """Handle an answer. Returns False for a bad answer, after which the peer gets no request for a
    while."""
    _check_authorized(message.error)
    if isinstance(message, ApiVersionsResponse):
        return handle_api_versions(core, node_id, message)
    if isinstance(message, VoteResponse) and message.error is ErrorCode.UNSUPPORTED_VERSION:
        handle_pre_vote_unsupported(core)
        return True
    if isinstance(message, FetchSnapshotResponse) and message.error is _FAILED_REFUSAL:
        return handle_refused_snapshot(core)
    if message.error in _WITHOUT_EPOCH and message.epoch < 0:
        return False
    return _learn_and_take(core, node_id, message)


def _learn_and_take(core: Core, node_id: int, message: PeerResponse) -> bool:
    """Learn epoch and leader from any answer. Then handle the rest of the answer, if its epoch is
    the epoch of this replica. Returns False for a bad answer, after which the peer gets no request
    for a while.

    A replica that learned nothing waits before it asks again, or it would ask without end. A
    replica that knows no epoch yet accepts every epoch in an answer: in an old quorum the epoch may
    be high.
    """
    if message.epoch < core.role.epoch or message.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        core.note_older_leader(message.epoch, message.leader_id, message.leader_endpoints)
        return False
    epoch, leader_id = message.epoch, message.leader_id
    is_first = core.role.epoch == 0 and epoch <= MAX_EPOCH
    if not is_first and not core.is_plausible_epoch(epoch):
        core.blame(Mistake.UNEXPLAINED_EPOCH, node_id, type(message))
        return False
    is_consistent = core.has_consistent_leader(epoch, leader_id)
    if not is_consistent and not core.may_be_former_self(epoch, leader_id):
        core.blame(Mistake.SECOND_LEADER, node_id, type(message))
        return False
    known = core.role
    refused = message.error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if epoch > core.role.epoch or refused:
        core.learn(epoch, leader_id, message.leader_endpoints)
        return core.role is not known
    is_unreachable = core.role.leader_id == NO_NODE or isinstance(core.role, Unattached)
    if leader_id != NO_NODE and is_unreachable:
        core.learn(epoch, leader_id, message.leader_endpoints)
        if message.error is not ErrorCode.NONE:
            return core.role is not known
    elif message.error is ErrorCode.INVALID_VOTER_KEY:
        return False
    return _take_answer(core, node_id, message)


def _check_authorized(error: ErrorCode) -> None:
    if error is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        raise ClusterAuthorizationError(
            "a peer refuses this replica (CLUSTER_AUTHORIZATION_FAILED): "
            "let this replica's principal do ClusterAction in the quorum's ACLs"
        )


def _take_answer(core: Core, node_id: int, message: PeerResponse) -> bool:
    match message:
        case VoteResponse():
            return handle_vote_response(core, node_id, message)
        case BeginQuorumEpochResponse():
            return message.error is ErrorCode.NONE
        case EndQuorumEpochResponse():
            return handle_end_response(core, node_id)
        case FetchResponse():
            return handle_fetch_response(core, node_id, message)
        case FetchSnapshotResponse():
            return handle_fetch_snapshot_response(core, node_id, message)
        case VoterChangeResponse():
            return handle_update_voter_response(core, message)
        case ApiVersionsResponse() | DescribeQuorumResponse() | FetchQuorumRecordsResponse():
            return False  # ApiVersions is handled above; no replica sends the other requests
        case _:
            assert_never(message)


def _tell_versions(core: Core, request_id: Hashable) -> None:
    local = core.local
    response = ApiVersionsResponse(
        min_kraft_version=0 if local is None else local.min_kraft_version,
        max_kraft_version=0 if local is None else local.max_kraft_version,
    )
    core.reply(request_id, core.signed(response))
