"""DescribeQuorum (KIP-595, KIP-836)."""

from __future__ import annotations

from collections.abc import Iterable

from replica.model.keys import ReplicaKey
from replica.node.translate.partition import (
    Partition,
    code_of,
    error_of,
    is_top_level,
    listeners,
)
from replica.raft.messages import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Error,
    ReplicaState,
)
from replica.wire.schema import Message


def write_describe(partition: Partition, request: DescribeQuorumRequest, version: int) -> Message:
    return {"topics": partition.topics({})}


def read_describe(partition: Partition, message: Message, version: int) -> DescribeQuorumRequest:
    partition.of_request(message["topics"])
    return DescribeQuorumRequest()


def write_describe_response(
    partition: Partition, response: DescribeQuorumResponse, version: int
) -> Message:
    """Times since version 1; directory ids and the voters' endpoints since 2."""
    if is_top_level(response.error):
        return {"errorCode": code_of(response.error)}
    entry: Message = {
        "errorCode": code_of(response.error),
        "leaderId": response.leader_id,
        "leaderEpoch": response.epoch,
        "highWatermark": response.high_watermark,
        "currentVoters": _states(response.voters),
        "observers": _states(response.observers),
    }
    nodes = [
        {"nodeId": voter.key.node_id, "listeners": listeners(voter.endpoints)}
        for voter in partition.voters
        if voter.endpoints
    ]
    is_fine = response.error is Error.NONE
    return {"topics": partition.topics(entry), "nodes": nodes if is_fine else []}


def read_describe_response(
    partition: Partition, message: Message, version: int
) -> DescribeQuorumResponse:
    error = error_of(message["errorCode"])
    if error is not Error.NONE:
        return DescribeQuorumResponse(error=error)
    entry = partition.of_response(message["topics"])
    return DescribeQuorumResponse(
        error=error_of(entry["errorCode"]),
        epoch=entry["leaderEpoch"],
        leader_id=entry["leaderId"],
        high_watermark=entry["highWatermark"],
        voters=_read_states(entry["currentVoters"]),
        observers=_read_states(entry["observers"]),
    )


def _states(states: Iterable[ReplicaState]) -> list[Message]:
    return [
        {
            "replicaId": state.replica.node_id,
            "replicaDirectoryId": state.replica.directory_id,
            "logEndOffset": state.log_end,
            "lastFetchTimestamp": state.last_fetch,
            "lastCaughtUpTimestamp": state.last_caught_up,
        }
        for state in states
    ]


def _read_states(states: Iterable[Message]) -> tuple[ReplicaState, ...]:
    return tuple(
        ReplicaState(
            ReplicaKey(state["replicaId"], state["replicaDirectoryId"]),
            state["logEndOffset"],
            state["lastFetchTimestamp"],
            state["lastCaughtUpTimestamp"],
        )
        for state in states
    )
