"""Vote, BeginQuorumEpoch, EndQuorumEpoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from replica.model.kafka_errors import ErrorCode, error_of
from replica.model.keys import ZERO_UUID, ReplicaKey
from replica.node.translate.partition import (
    ReplicatedPartition,
    directory,
    endpoints_in,
    is_top_level,
    leader_endpoints,
    listeners,
    node_endpoints,
)
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from replica.wire.schema import Message

_Answer: TypeAlias = VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse


_SINCE_PRE_VOTES = 2


def version_of_vote(request: VoteRequest) -> int:
    """The first version that can say the request: older ones would turn a pre-vote into a vote."""
    return _SINCE_PRE_VOTES if request.pre_vote else 0


def write_vote(partition: ReplicatedPartition, request: VoteRequest, version: int) -> Message:
    """The request. Version 0 names no directory ids and no receiver; only version 2 has
    pre-votes."""
    entry: Message = {
        "replicaEpoch": request.epoch,
        "replicaId": request.candidate.node_id,
        "replicaDirectoryId": request.candidate.directory_id,
        "voterDirectoryId": directory(request.voter),
        "lastOffsetEpoch": request.last_epoch,
        "lastOffset": request.end_offset,
        "preVote": request.pre_vote,
    }
    return {
        "clusterId": request.cluster_id,
        "voterId": _id(request.voter),
        "topics": partition.topics(entry),
    }


def read_vote(partition: ReplicatedPartition, message: Message, version: int) -> VoteRequest:
    entry = partition.of_request(message["topics"])
    return VoteRequest(
        cluster_id=message["clusterId"],
        epoch=entry["replicaEpoch"],
        candidate=ReplicaKey(entry["replicaId"], entry["replicaDirectoryId"]),
        voter=_key(message["voterId"], entry["voterDirectoryId"]),
        last_epoch=entry["lastOffsetEpoch"],
        end_offset=entry["lastOffset"],
        pre_vote=entry["preVote"],
    )


def write_begin(
    partition: ReplicatedPartition, request: BeginQuorumEpochRequest, version: int
) -> Message:
    """The request. Version 0 names no endpoints and no receiver."""
    entry: Message = {
        "voterDirectoryId": directory(request.voter),
        "leaderId": request.leader_id,
        "leaderEpoch": request.epoch,
    }
    return {
        "clusterId": request.cluster_id,
        "voterId": _id(request.voter),
        "topics": partition.topics(entry),
        "leaderEndpoints": listeners(request.leader_endpoints),
    }


def read_begin(
    partition: ReplicatedPartition, message: Message, version: int
) -> BeginQuorumEpochRequest:
    entry = partition.of_request(message["topics"])
    return BeginQuorumEpochRequest(
        cluster_id=message["clusterId"],
        epoch=entry["leaderEpoch"],
        leader_id=entry["leaderId"],
        leader_endpoints=endpoints_in(message["leaderEndpoints"]),
        voter=_key(message["voterId"], entry["voterDirectoryId"]),
    )


def write_end(
    partition: ReplicatedPartition, request: EndQuorumEpochRequest, version: int
) -> Message:
    """The request. Version 0 names successors by their node ids only."""
    entry: Message = {
        "leaderId": request.leader_id,
        "leaderEpoch": request.epoch,
        "preferredSuccessors": [key.node_id for key in request.preferred_successors],
        "preferredCandidates": [
            {"candidateId": key.node_id, "candidateDirectoryId": key.directory_id}
            for key in request.preferred_successors
        ],
    }
    return {
        "clusterId": request.cluster_id,
        "topics": partition.topics(entry),
        "leaderEndpoints": listeners(request.leader_endpoints),
    }


def read_end(
    partition: ReplicatedPartition, message: Message, version: int
) -> EndQuorumEpochRequest:
    entry = partition.of_request(message["topics"])
    if version == 0:
        successors = tuple(ReplicaKey(node_id) for node_id in entry["preferredSuccessors"])
    else:
        successors = tuple(
            ReplicaKey(each["candidateId"], each["candidateDirectoryId"])
            for each in entry["preferredCandidates"]
        )
    return EndQuorumEpochRequest(
        cluster_id=message["clusterId"],
        epoch=entry["leaderEpoch"],
        leader_id=entry["leaderId"],
        leader_endpoints=endpoints_in(message["leaderEndpoints"]),
        preferred_successors=successors,
    )


def write_response(partition: ReplicatedPartition, response: _Answer, version: int) -> Message:
    """The response to any of this module's three requests."""
    if is_top_level(response.error):
        return {"errorCode": response.error}
    entry = {
        "errorCode": response.error,
        "leaderId": response.leader_id,
        "leaderEpoch": response.epoch,
    }
    if isinstance(response, VoteResponse):
        entry["voteGranted"] = response.granted
    return {
        "topics": partition.topics(entry),
        "nodeEndpoints": node_endpoints(partition, response),
    }


def response_reader(
    kind: type[_Answer],
) -> Callable[[ReplicatedPartition, Message, int], _Answer]:
    """A function that reads responses of this class."""

    def read(partition: ReplicatedPartition, message: Message, version: int) -> _Answer:
        error = error_of(message["errorCode"])
        if error is not ErrorCode.NONE:
            return kind(error=error)
        entry = partition.of_response(message["topics"])
        leader_id = entry["leaderId"]
        made = kind(
            error=error_of(entry["errorCode"]),
            epoch=entry["leaderEpoch"],
            leader_id=leader_id,
            leader_endpoints=leader_endpoints(partition, message["nodeEndpoints"], leader_id),
        )
        if isinstance(made, VoteResponse):
            return replace(made, granted=entry["voteGranted"])
        return made

    return read


def _id(key: ReplicaKey | None) -> int:
    return -1 if key is None else key.node_id


def _key(node_id: int, directory_id: str = ZERO_UUID) -> ReplicaKey | None:
    return None if node_id < 0 else ReplicaKey(node_id, directory_id)
