"""Fetch of replicas, and FetchSnapshot. Fetch is used from version 12 on, for older versions don't
say the epoch of the last record. Records stay the bytes of the log; they aren't encoded anew."""

from __future__ import annotations

from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode, error_of
from replica.model.keys import ReplicaKey
from replica.node.translate.partition import (
    ReplicatedPartition,
    is_top_level,
    leader_endpoints,
    node_endpoints,
)
from replica.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from replica.storage.batches import batches_of
from replica.wire.apis.fetching import HIGH_WATERMARK_UNSUPPORTED
from replica.wire.schema import Message

OLDEST_OF_REPLICAS = 12
_SINCE_TOPIC_ID, _SINCE_REPLICA_STATE = 13, 15


def _topic(version: int) -> str:
    return "topicId" if version >= _SINCE_TOPIC_ID else "topic"


def replica_id(message: Message, version: int) -> int:
    """In whose name a Fetch asks. Negative for a reader and for an anonymous observer."""
    has_state = version >= _SINCE_REPLICA_STATE
    found: int = message["replicaState"]["replicaId"] if has_state else message["replicaId"]
    return found


def write_fetch(partition: ReplicatedPartition, request: FetchRequest, version: int) -> Message:
    known = request.high_watermark
    entry: Message = {
        "currentLeaderEpoch": request.epoch,
        "fetchOffset": request.fetch_offset,
        "lastFetchedEpoch": request.last_fetched_epoch,
        "partitionMaxBytes": request.max_bytes,
        "replicaDirectoryId": request.replica.directory_id,
        "highWatermark": HIGH_WATERMARK_UNSUPPORTED if known is None else known,
    }
    return {
        "clusterId": request.cluster_id,
        "replicaId": request.replica.node_id,
        "replicaState": {"replicaId": request.replica.node_id, "replicaEpoch": -1},
        "maxWaitMs": request.max_wait_ms,
        "maxBytes": request.max_bytes,
        "topics": partition.topics(entry, _topic(version), "partition"),
        "rackId": partition.rack,
    }


def read_fetch(partition: ReplicatedPartition, message: Message, version: int) -> FetchRequest:
    entry = partition.of_request(message["topics"], _topic(version), "partition")
    node_id, known = replica_id(message, version), entry["highWatermark"]
    return FetchRequest(
        cluster_id=message["clusterId"],
        replica=ReplicaKey(node_id, entry["replicaDirectoryId"]),
        epoch=entry["currentLeaderEpoch"],
        fetch_offset=entry["fetchOffset"],
        last_fetched_epoch=entry["lastFetchedEpoch"],
        max_wait_ms=message["maxWaitMs"],
        max_bytes=message["maxBytes"],
        high_watermark=None if known == HIGH_WATERMARK_UNSUPPORTED else known,
    )


def write_fetch_response(
    partition: ReplicatedPartition, response: FetchResponse, version: int
) -> Message:
    if is_top_level(response.error):
        return {"errorCode": response.error}
    known = -1 if response.high_watermark is None else response.high_watermark
    entry: Message = {
        "errorCode": response.error,
        "highWatermark": known,
        "lastStableOffset": known,
        "logStartOffset": response.log_start,
        "currentLeader": {"leaderId": response.leader_id, "leaderEpoch": response.epoch},
        "abortedTransactions": None,
        "records": response.data,
    }
    if response.diverging is not None:
        entry["divergingEpoch"] = _offset_and_epoch(response.diverging)
    if response.snapshot_id is not None:
        entry["snapshotId"] = _offset_and_epoch(response.snapshot_id)
    return {
        "responses": partition.topics(entry, _topic(version)),
        "nodeEndpoints": node_endpoints(partition, response),
    }


def read_fetch_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> FetchResponse:
    """The answer. Raises DataError for malformed records or another malformed field."""
    error = error_of(message["errorCode"])
    if error is not ErrorCode.NONE:
        return FetchResponse(error=error)
    entry = partition.of_response(message["responses"], _topic(version))
    leader, known = entry["currentLeader"], entry["highWatermark"]
    return FetchResponse(
        error=error_of(entry["errorCode"]),
        epoch=leader["leaderEpoch"],
        leader_id=leader["leaderId"],
        leader_endpoints=leader_endpoints(partition, message["nodeEndpoints"], leader["leaderId"]),
        batches=batches_of(entry["records"] or b""),
        high_watermark=None if known < 0 else known,
        log_start=entry["logStartOffset"],
        diverging=_named(entry["divergingEpoch"]),
        snapshot_id=_named(entry["snapshotId"]),
    )


def write_fetch_snapshot(
    partition: ReplicatedPartition, request: FetchSnapshotRequest, version: int
) -> Message:
    entry: Message = {
        "currentLeaderEpoch": request.epoch,
        "snapshotId": _offset_and_epoch(request.snapshot_id),
        "position": request.position,
        "replicaDirectoryId": request.replica.directory_id,
    }
    return {
        "clusterId": request.cluster_id,
        "replicaId": request.replica.node_id,
        "maxBytes": request.max_bytes,
        "topics": partition.topics(entry, "name", "partition"),
    }


def read_fetch_snapshot(
    partition: ReplicatedPartition, message: Message, version: int
) -> FetchSnapshotRequest:
    entry = partition.of_request(message["topics"], "name", "partition")
    snapshot_id = entry["snapshotId"]
    return FetchSnapshotRequest(
        cluster_id=message["clusterId"],
        replica=ReplicaKey(message["replicaId"], entry["replicaDirectoryId"]),
        epoch=entry["currentLeaderEpoch"],
        snapshot_id=OffsetAndEpoch(snapshot_id["endOffset"], snapshot_id["epoch"]),
        position=entry["position"],
        max_bytes=message["maxBytes"],
    )


def write_fetch_snapshot_response(
    partition: ReplicatedPartition, response: FetchSnapshotResponse, version: int
) -> Message:
    if is_top_level(response.error):
        return {"errorCode": response.error}
    entry: Message = {
        "errorCode": response.error,
        "currentLeader": {"leaderId": response.leader_id, "leaderEpoch": response.epoch},
        "size": response.size,
        "position": response.position,
        "unalignedRecords": response.data,
    }
    if response.snapshot_id is not None:
        entry["snapshotId"] = _offset_and_epoch(response.snapshot_id)
    return {
        "topics": partition.topics(entry, "name", "index"),
        "nodeEndpoints": node_endpoints(partition, response),
    }


def read_fetch_snapshot_response(
    partition: ReplicatedPartition, message: Message, version: int
) -> FetchSnapshotResponse:
    error = error_of(message["errorCode"])
    if error is not ErrorCode.NONE:
        return FetchSnapshotResponse(error=error)
    entry = partition.of_response(message["topics"], "name", "index")
    leader, error = entry["currentLeader"], error_of(entry["errorCode"])
    return FetchSnapshotResponse(
        error=error,
        epoch=leader["leaderEpoch"],
        leader_id=leader["leaderId"],
        leader_endpoints=leader_endpoints(partition, message["nodeEndpoints"], leader["leaderId"]),
        snapshot_id=_named(entry["snapshotId"]) if error is ErrorCode.NONE else None,
        size=entry["size"],
        position=entry["position"],
        data=entry["unalignedRecords"],
    )


def _offset_and_epoch(found: OffsetAndEpoch) -> Message:
    return {"endOffset": found.offset, "epoch": found.epoch}


def _named(found: Message) -> OffsetAndEpoch | None:
    """None where neither number is set. The core refuses an id with one number."""
    if found["endOffset"] < 0 and found["epoch"] < 0:
        return None
    return OffsetAndEpoch(found["endOffset"], found["epoch"])
