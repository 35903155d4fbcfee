"""FetchQuorumRecords of KIP-595's draft, which has no topics, no versions, and its own errors."""

from __future__ import annotations

from replica.model.kafka_errors import error_of
from replica.model.keys import ReplicaKey
from replica.node.translate.partition import ReplicatedPartition
from replica.node.translate.translation import ClientSide, ServerSide, Translation
from replica.raft.messages import FetchQuorumRecordsRequest, FetchQuorumRecordsResponse
from replica.wire.apis.draft import fetch_quorum_records
from replica.wire.schema import Message


def translation(key: int) -> Translation:
    """The translation for the API key that the quorum agreed on. Raises UsageError for an unusable
    key."""
    return Translation(
        FetchQuorumRecordsRequest,
        fetch_quorum_records(key),
        ClientSide(write_request, read_response),
        ServerSide(read_request, write_response),
    )


def write_request(
    partition: ReplicatedPartition, request: FetchQuorumRecordsRequest, version: int
) -> Message:
    """The request. It names no cluster, because the draft's int32 can't hold Kafka's cluster
    ids."""
    return {
        "replicaId": request.replica.node_id,
        "leaderEpoch": request.epoch,
        "fetchOffset": request.fetch_offset,
        "fetchEpoch": request.fetch_epoch,
        "isFollower": request.is_follower,
    }


def read_request(
    partition: ReplicatedPartition, message: Message, version: int
) -> FetchQuorumRecordsRequest:
    return FetchQuorumRecordsRequest(
        replica=ReplicaKey(message["replicaId"]),
        epoch=message["leaderEpoch"],
        fetch_offset=message["fetchOffset"],
        fetch_epoch=message["fetchEpoch"],
        is_follower=message["isFollower"],
    )


def write_response(
    partition: ReplicatedPartition, response: FetchQuorumRecordsResponse, version: int
) -> Message:
    return {
        "errorCode": response.error,
        "leaderId": response.leader_id,
        "leaderEpoch": response.epoch,
        "nextFetchOffset": response.next_fetch_offset,
        "nextFetchOffsetEpoch": response.next_fetch_epoch,
        "records": response.records,
        "highWatermark": response.high_watermark,
        "firstDirtyOffset": response.first_dirty_offset,
        "lastCaughtUpTimeMs": response.last_caught_up,
    }


def read_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> FetchQuorumRecordsResponse:
    return FetchQuorumRecordsResponse(
        error=error_of(message["errorCode"]),
        epoch=message["leaderEpoch"],
        leader_id=message["leaderId"],
        next_fetch_offset=message["nextFetchOffset"],
        next_fetch_epoch=message["nextFetchOffsetEpoch"],
        records=message["records"],
        high_watermark=message["highWatermark"],
        first_dirty_offset=message["firstDirtyOffset"],
        last_caught_up=message["lastCaughtUpTimeMs"],
    )
