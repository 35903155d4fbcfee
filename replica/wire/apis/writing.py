"""Produce and DeleteRecords (KIP-107, 467, 516, 951)."""

from __future__ import annotations

from replica.wire.schema import api, field

PRODUCE = api(
    "Produce",
    0,
    (3, 13),
    flexible_since=9,
    request=(
        field("transactionalId", "string", nullable=True, default=None),
        field("acks", "int16"),
        field("timeoutMs", "int32"),
        field(
            "topicData",
            "[]struct",
            field("name", "string", until=12),
            field("topicId", "uuid", since=13),
            field(
                "partitionData",
                "[]struct",
                field("index", "int32"),
                field("records", "bytes", nullable=True),
            ),
        ),
    ),
    response=(
        field(
            "responses",
            "[]struct",
            field("name", "string", until=12),
            field("topicId", "uuid", since=13),
            field(
                "partitionResponses",
                "[]struct",
                field("index", "int32"),
                field("errorCode", "int16"),
                field("baseOffset", "int64"),
                field("logAppendTimeMs", "int64", default=-1),
                field("logStartOffset", "int64", since=5, default=-1),
                field(
                    "recordErrors",
                    "[]struct",
                    field("batchIndex", "int32"),
                    field("batchIndexErrorMessage", "string", nullable=True, default=None),
                    since=8,
                ),
                field("errorMessage", "string", since=8, nullable=True, default=None),
                field(
                    "currentLeader",
                    "struct",
                    field("leaderId", "int32", default=-1),
                    field("leaderEpoch", "int32", default=-1),
                    since=10,
                    tag=0,
                ),
            ),
        ),
        field("throttleTimeMs", "int32"),
        field(
            "nodeEndpoints",
            "[]struct",
            field("nodeId", "int32"),
            field("host", "string"),
            field("port", "int32"),
            field("rack", "string", nullable=True, default=None),
            since=10,
            tag=0,
        ),
    ),
)

DELETE_RECORDS = api(
    "DeleteRecords",
    21,
    (0, 2),
    flexible_since=2,
    request=(
        field(
            "topics",
            "[]struct",
            field("name", "string"),
            field(
                "partitions",
                "[]struct",
                field("partitionIndex", "int32"),
                field("offset", "int64"),
            ),
        ),
        field("timeoutMs", "int32"),
    ),
    response=(
        field("throttleTimeMs", "int32"),
        field(
            "topics",
            "[]struct",
            field("name", "string"),
            field(
                "partitions",
                "[]struct",
                field("partitionIndex", "int32"),
                field("lowWatermark", "int64"),
                field("errorCode", "int16"),
            ),
        ),
    ),
)
