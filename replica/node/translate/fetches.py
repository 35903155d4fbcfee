"""Translates Fetch between replicas, and FetchSnapshot. Replicas use Fetch from version 12 on,
because older versions don't name the epoch of the last record. Records stay the bytes of the log,
and aren't encoded again."""

from __future__ import annotations

from typing import Any

from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.node.translate.translation import CLUSTER, LEADER, Part, key, same, translated, within
from replica.raft.messages import (
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from replica.storage.batches import batches_of
from replica.wire.apis import fetching
from replica.wire.apis.fetching import HIGH_WATERMARK_UNSUPPORTED
from replica.wire.schema import Message

_SINCE_REPLICA_STATE = 15


def replica_id(message: Message, version: int) -> int:
    """The node id that a Fetch names as its sender. The id is negative for a reader and for an
    anonymous observer."""
    has_state = version >= _SINCE_REPLICA_STATE
    found: int = message["replicaState"]["replicaId"] if has_state else message["replicaId"]
    return found


def _write_fetching(request: FetchRequest) -> Message:
    node_id, known = request.replica.node_id, request.high_watermark
    return {
        "replicaId": node_id,
        "replicaState": {"replicaId": node_id, "replicaEpoch": -1},
        "replicaDirectoryId": request.replica.directory_id,
        "partitionMaxBytes": request.max_bytes,
        "highWatermark": HIGH_WATERMARK_UNSUPPORTED if known is None else known,
    }


def _read_fetching(fields: Message, version: int) -> dict[str, Any]:
    known = fields["highWatermark"]
    return {
        "replica": ReplicaKey(replica_id(fields, version), fields["replicaDirectoryId"]),
        "high_watermark": None if known == HIGH_WATERMARK_UNSUPPORTED else known,
    }


def _write_fetched(response: FetchResponse) -> Message:
    known = -1 if response.high_watermark is None else response.high_watermark
    found: Message = {
        "highWatermark": known,
        "lastStableOffset": known,
        "abortedTransactions": None,
        "records": response.data,
    }
    if response.diverging is not None:
        found["divergingEpoch"] = _offset_and_epoch(response.diverging)
    return found | _write_snapshot_id(response)


def _read_fetched(fields: Message, version: int) -> dict[str, Any]:
    """Attributes of a FetchResponse. Raises DataError for malformed records."""
    known = fields["highWatermark"]
    return {
        "high_watermark": None if known < 0 else known,
        "batches": batches_of(fields["records"] or b""),
        "diverging": _named(fields["divergingEpoch"]),
        "snapshot_id": _named(fields["snapshotId"]),
    }


def _write_snapshot_id(response: FetchResponse | FetchSnapshotResponse) -> Message:
    found = response.snapshot_id
    return {} if found is None else {"snapshotId": _offset_and_epoch(found)}


def _read_snapshot_id(fields: Message, version: int) -> dict[str, Any]:
    is_fine = fields["errorCode"] == ErrorCode.NONE
    return {"snapshot_id": _named(fields["snapshotId"]) if is_fine else None}


def _offset_and_epoch(found: OffsetAndEpoch) -> Message:
    return {"endOffset": found.offset, "epoch": found.epoch}


def _given(found: Message) -> OffsetAndEpoch:
    return OffsetAndEpoch(found["endOffset"], found["epoch"])


def _named(found: Message) -> OffsetAndEpoch | None:
    """The offset and the epoch in a field of a response. None if the response sets neither. If a
    response sets only one of them, the core refuses the value."""
    return None if found["endOffset"] < 0 and found["epoch"] < 0 else _given(found)


_CURRENT_LEADER = within("currentLeader", LEADER)
_ASKED_SNAPSHOT = Part(
    lambda request: {"snapshotId": _offset_and_epoch(request.snapshot_id)},
    lambda fields, version: {"snapshot_id": _given(fields["snapshotId"])},
)

FETCH = translated(
    fetching.FETCH,
    FetchRequest,
    (
        CLUSTER,
        same(epoch="currentLeaderEpoch", fetch_offset="fetchOffset"),
        same(last_fetched_epoch="lastFetchedEpoch"),
        same(max_wait_ms="maxWaitMs", max_bytes="maxBytes"),
        Part(_write_fetching, _read_fetching),
    ),
    (_CURRENT_LEADER, same(log_start="logStartOffset"), Part(_write_fetched, _read_fetched)),
    oldest=12,
)
FETCH_SNAPSHOT = translated(
    fetching.FETCH_SNAPSHOT,
    FetchSnapshotRequest,
    (
        CLUSTER,
        key("replica", "replicaId", "replicaDirectoryId"),
        same(epoch="currentLeaderEpoch", position="position", max_bytes="maxBytes"),
        _ASKED_SNAPSHOT,
    ),
    (
        _CURRENT_LEADER,
        same(size="size", position="position", data="unalignedRecords"),
        Part(_write_snapshot_id, _read_snapshot_id),
    ),
)
