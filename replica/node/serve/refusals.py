"""One error for a whole request, in the shape of each API's response."""

from __future__ import annotations

from collections.abc import Callable

from replica.node.serve.partition import ServedPartition
from replica.wire.apis.cluster import DESCRIBE_CLUSTER, METADATA
from replica.wire.apis.configs import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from replica.wire.apis.fetching import FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from replica.wire.apis.writing import DELETE_RECORDS, PRODUCE
from replica.wire.error_codes import ErrorCode
from replica.wire.header import Request
from replica.wire.schema import Message


def refused(partition: ServedPartition, request: Request, error: ErrorCode) -> Message:
    """The response that says `error` of everything that was asked."""
    shape = _SHAPES.get(request.api.key)
    if shape is None:
        return {"errorCode": int(error)}
    return shape(partition, request.message, int(error))


def _metadata(partition: ServedPartition, message: Message, error: int) -> Message:
    topics = message["topics"] or []
    return {
        "brokers": [],
        "topics": [
            {
                "errorCode": error,
                "name": topic.get("name"),
                **({"topicId": topic["topicId"]} if "topicId" in topic else {}),
                "isInternal": False,
                "partitions": [],
            }
            for topic in topics
        ],
        "errorCode": error,
    }


def _describe_cluster(partition: ServedPartition, message: Message, error: int) -> Message:
    cluster_id = partition.driver.host.config.cluster_id
    return {"errorCode": error, "clusterId": cluster_id, "brokers": []}


def _partitions(
    topics: str, name: str, partitions: str, number: str, answers: tuple[str, str, str]
) -> Callable[[ServedPartition, Message, int], Message]:
    """names in the request, and in the response: topics, partitions, number."""
    out_topics, out_partitions, out_number = answers

    def shape(_: ServedPartition, message: Message, error: int) -> Message:
        return {
            out_topics: [
                {
                    **{key: topic[key] for key in (name, "topicId") if key in topic},
                    out_partitions: [
                        {out_number: asked[number], "errorCode": error, **_DEFAULTS}
                        for asked in topic[partitions]
                    ],
                }
                for topic in message[topics]
            ]
        }

    return shape


_DEFAULTS: Message = {
    "highWatermark": -1,
    "baseOffset": -1,
    "lowWatermark": -1,
    "records": b"",
    "abortedTransactions": None,
}
"""Of whichever of these fields a response has."""


def _configs(list_name: str) -> Callable[[ServedPartition, Message, int], Message]:
    def shape(_: ServedPartition, message: Message, error: int) -> Message:
        return {
            list_name: [
                {
                    "errorCode": error,
                    "resourceType": asked["resourceType"],
                    "resourceName": asked["resourceName"],
                    "configs": [],
                }
                for asked in message["resources"]
            ]
        }

    return shape


_SHAPES: dict[int, Callable[[ServedPartition, Message, int], Message]] = {
    METADATA.key: _metadata,
    DESCRIBE_CLUSTER.key: _describe_cluster,
    FETCH.key: _partitions(
        *("topics", "topic", "partitions", "partition"),
        ("responses", "partitions", "partitionIndex"),
    ),
    LIST_OFFSETS.key: _partitions(
        *("topics", "name", "partitions", "partitionIndex"),
        ("topics", "partitions", "partitionIndex"),
    ),
    OFFSET_FOR_LEADER_EPOCH.key: _partitions(
        *("topics", "topic", "partitions", "partition"), ("topics", "partitions", "partition")
    ),
    PRODUCE.key: _partitions(
        *("topicData", "name", "partitionData", "index"),
        ("responses", "partitionResponses", "index"),
    ),
    DELETE_RECORDS.key: _partitions(
        *("topics", "name", "partitions", "partitionIndex"),
        ("topics", "partitions", "partitionIndex"),
    ),
    DESCRIBE_CONFIGS.key: _configs("results"),
    ALTER_CONFIGS.key: _configs("responses"),
    INCREMENTAL_ALTER_CONFIGS.key: _configs("responses"),
}
