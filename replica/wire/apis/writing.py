"""Produce and DeleteRecords (KIP-107, 467, 516, 951)."""

from __future__ import annotations

from replica.wire.apis.parts import broker_endpoints, current_leader, topics
from replica.wire.schema import api, field, structs

PRODUCE = api(
    "Produce",
    0,
    (3, 13),
    flexible_since=9,
    request=(
        field("transactionalId", "string", nullable=True, default=None),
        field("acks", "int16"),
        field("timeoutMs", "int32"),
        structs(
            "topicData",
            field("name", "string", until=12),
            field("topicId", "uuid", since=13),
            structs(
                "partitionData",
                field("index", "int32"),
                field("records", "bytes", nullable=True),
            ),
        ),
    ),
    response=(
        structs(
            "responses",
            field("name", "string", until=12),
            field("topicId", "uuid", since=13),
            structs(
                "partitionResponses",
                field("index", "int32"),
                field("errorCode", "int16"),
                field("baseOffset", "int64"),
                field("logAppendTimeMs", "int64", default=-1),
                field("logStartOffset", "int64", since=5, default=-1),
                structs(
                    "recordErrors",
                    field("batchIndex", "int32"),
                    field("batchIndexErrorMessage", "string", nullable=True, default=None),
                    since=8,
                ),
                field("errorMessage", "string", since=8, nullable=True, default=None),
                current_leader(since=10, tag=0),
            ),
        ),
        field("throttleTimeMs", "int32"),
        broker_endpoints(since=10),
    ),
)

DELETE_RECORDS = api(
    "DeleteRecords",
    21,
    (0, 2),
    flexible_since=2,
    request=(
        topics(
            "name",
            field("partitionIndex", "int32"),
            field("offset", "int64"),
        ),
        field("timeoutMs", "int32"),
    ),
    response=(
        field("throttleTimeMs", "int32"),
        topics(
            "name",
            field("partitionIndex", "int32"),
            field("lowWatermark", "int64"),
            field("errorCode", "int16"),
        ),
    ),
)
