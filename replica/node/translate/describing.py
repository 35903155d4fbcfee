"""Translates DescribeQuorum (KIP-595, KIP-836) between the core's messages and Kafka's."""

from __future__ import annotations

from collections.abc import Iterable

from replica.model.kafka_errors import ErrorCode, error_of
from replica.node.translate.partition import ReplicatedPartition, is_top_level, listeners
from replica.node.translate.translation import ClientSide, RequestForm, ServerSide, Translation
from replica.raft.messages import DescribeQuorumRequest, DescribeQuorumResponse, ReplicaState
from replica.wire.apis import quorum
from replica.wire.describe_quorum import DescribedQuorum, DescribedReplica, read_quorum
from replica.wire.schema import Message


def _write_response(
    partition: ReplicatedPartition, response: DescribeQuorumResponse, version: int
) -> Message:
    """The answer. The answer has times since version 1, and directory ids and the voters' endpoints
    since version 2."""
    if is_top_level(response.error):
        return {"errorCode": response.error}
    entry: Message = {
        "errorCode": response.error,
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
    is_fine = response.error is ErrorCode.NONE
    return {"topics": partition.topics(entry), "nodes": nodes if is_fine else []}


def _read_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> DescribeQuorumResponse:
    return described(read_quorum(message, version, partition.topic))


def described(quorum_state: DescribedQuorum) -> DescribeQuorumResponse:
    """The leader's answer as the core's message. A time is -1 if the leader's release doesn't send
    this time."""
    return DescribeQuorumResponse(
        error=error_of(quorum_state.error),
        epoch=quorum_state.epoch,
        leader_id=quorum_state.leader_id,
        high_watermark=quorum_state.high_watermark,
        voters=tuple(map(_state, quorum_state.voters)),
        observers=tuple(map(_state, quorum_state.observers)),
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


def _state(replica: DescribedReplica) -> ReplicaState:
    times = (-1 if each is None else each for each in (replica.last_fetch, replica.last_caught_up))
    return ReplicaState(replica.key, replica.log_end, *times)


_REQUEST = RequestForm(quorum.DESCRIBE_QUORUM.request, DescribeQuorumRequest, ())
DESCRIBE_QUORUM = Translation(
    DescribeQuorumRequest,
    quorum.DESCRIBE_QUORUM,
    ClientSide(_REQUEST.write, _read_response),
    ServerSide(_REQUEST.read, _write_response),
)
