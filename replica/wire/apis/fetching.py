"""Fetch, FetchSnapshot, OffsetForLeaderEpoch, ListOffsets (KIP-320, 392, 516, 595, 630, 1166)."""

from __future__ import annotations

from enum import IntEnum

from replica.wire.apis.parts import QUORUM_ENDPOINTS, broker_endpoints, current_leader, topics
from replica.wire.schema import api, field, structs

HIGH_WATERMARK_UNSUPPORTED = 2**63 - 1
"""The highWatermark in a fetch request of a replica that doesn't send its high watermark
(KIP-1166)."""


class Timestamp(IntEnum):
    """The timestamps of ListOffsets that mean not a time but a special offset, such as the log end
    (Kafka: ListOffsetsRequest)."""

    LATEST = -1
    EARLIEST = -2
    NEWEST_RECORD = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


_FETCH_REQUEST = (
    field("clusterId", "string", since=12, nullable=True, tag=0, default=None),
    field("replicaId", "int32", until=14, default=-1),
    field(
        "replicaState",
        "struct",
        field("replicaId", "int32", default=-1),
        field("replicaEpoch", "int64", default=-1),
        since=15,
        tag=1,
    ),
    field("maxWaitMs", "int32"),
    field("minBytes", "int32"),
    field("maxBytes", "int32", default=2**31 - 1),
    field("isolationLevel", "int8"),
    field("sessionId", "int32", since=7),
    field("sessionEpoch", "int32", since=7, default=-1),
    structs(
        "topics",
        field("topic", "string", until=12),
        field("topicId", "uuid", since=13),
        structs(
            "partitions",
            field("partition", "int32"),
            field("currentLeaderEpoch", "int32", since=9, default=-1),
            field("fetchOffset", "int64"),
            field("lastFetchedEpoch", "int32", since=12, default=-1),
            field("logStartOffset", "int64", since=5, default=-1),
            field("partitionMaxBytes", "int32"),
            field("replicaDirectoryId", "uuid", since=17, tag=0),
            field("highWatermark", "int64", since=18, tag=1, default=HIGH_WATERMARK_UNSUPPORTED),
        ),
    ),
    structs(
        "forgottenTopicsData",
        field("topic", "string", until=12),
        field("topicId", "uuid", since=13),
        field("partitions", "[]int32"),
        since=7,
    ),
    field("rackId", "string", since=11),
)

_FETCHED_PARTITION = (
    field("partitionIndex", "int32"),
    field("errorCode", "int16"),
    field("highWatermark", "int64"),
    field("lastStableOffset", "int64", default=-1),
    field("logStartOffset", "int64", since=5, default=-1),
    field(
        "divergingEpoch",
        "struct",
        field("epoch", "int32", default=-1),
        field("endOffset", "int64", default=-1),
        since=12,
        tag=0,
    ),
    current_leader(since=12, tag=1),
    field(
        "snapshotId",
        "struct",
        field("endOffset", "int64", default=-1),
        field("epoch", "int32", default=-1),
        since=12,
        tag=2,
    ),
    structs(
        "abortedTransactions",
        field("producerId", "int64"),
        field("firstOffset", "int64"),
        nullable=True,
    ),
    field("preferredReadReplica", "int32", since=11, default=-1),
    field("records", "bytes", nullable=True),
)

FETCH = api(
    "Fetch",
    1,
    (4, 18),
    flexible_since=12,
    request=_FETCH_REQUEST,
    response=(
        field("throttleTimeMs", "int32"),
        field("errorCode", "int16", since=7),
        field("sessionId", "int32", since=7),
        structs(
            "responses",
            field("topic", "string", until=12),
            field("topicId", "uuid", since=13),
            structs("partitions", *_FETCHED_PARTITION),
        ),
        broker_endpoints(since=16),
    ),
)

_SNAPSHOT_ID = field("snapshotId", "struct", field("endOffset", "int64"), field("epoch", "int32"))

FETCH_SNAPSHOT = api(
    "FetchSnapshot",
    59,
    (0, 1),
    flexible_since=0,
    request=(
        field("clusterId", "string", nullable=True, tag=0, default=None),
        field("replicaId", "int32", default=-1),
        field("maxBytes", "int32", default=2**31 - 1),
        topics(
            "name",
            field("partition", "int32"),
            field("currentLeaderEpoch", "int32"),
            _SNAPSHOT_ID,
            field("position", "int64"),
            field("replicaDirectoryId", "uuid", since=1, tag=0),
        ),
    ),
    response=(
        field("throttleTimeMs", "int32"),
        field("errorCode", "int16"),
        topics(
            "name",
            field("index", "int32"),
            field("errorCode", "int16"),
            _SNAPSHOT_ID,
            field(
                "currentLeader",
                "struct",
                field("leaderId", "int32"),
                field("leaderEpoch", "int32"),
                tag=0,
            ),
            field("size", "int64"),
            field("position", "int64"),
            field("unalignedRecords", "bytes"),
        ),
        QUORUM_ENDPOINTS,
    ),
)

OFFSET_FOR_LEADER_EPOCH = api(
    "OffsetForLeaderEpoch",
    23,
    (2, 4),
    flexible_since=4,
    request=(
        field("replicaId", "int32", since=3, default=-2),
        topics(
            "topic",
            field("partition", "int32"),
            field("currentLeaderEpoch", "int32", default=-1),
            field("leaderEpoch", "int32"),
        ),
    ),
    response=(
        field("throttleTimeMs", "int32"),
        topics(
            "topic",
            field("errorCode", "int16"),
            field("partition", "int32"),
            field("leaderEpoch", "int32", default=-1),
            field("endOffset", "int64", default=-1),
        ),
    ),
)

LIST_OFFSETS = api(
    "ListOffsets",
    2,
    (1, 11),
    flexible_since=6,
    request=(
        field("replicaId", "int32"),
        field("isolationLevel", "int8", since=2),
        topics(
            "name",
            field("partitionIndex", "int32"),
            field("currentLeaderEpoch", "int32", since=4, default=-1),
            field("timestamp", "int64"),
        ),
        field("timeoutMs", "int32", since=10),
    ),
    response=(
        field("throttleTimeMs", "int32", since=2),
        topics(
            "name",
            field("partitionIndex", "int32"),
            field("errorCode", "int16"),
            field("timestamp", "int64", default=-1),
            field("offset", "int64", default=-1),
            field("leaderEpoch", "int32", since=4, default=-1),
        ),
    ),
)
