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
                "name": topic["name"] or "",  # asked for by id; null is for newer versions alone
                **({"topicId": topic["topicId"]} if "topicId" in topic else {}),
                "isInternal": False,
                "partitions": [],
            }
            for topic in topics
        ],
        "errorCode": int(ErrorCode.NONE),  # of the whole: Kafka refuses single topics (KIP-1102)
    }


def _describe_cluster(partition: ServedPartition, message: Message, error: int) -> Message:
    cluster_id = partition.driver.host.config.cluster_id
    return {"errorCode": error, "clusterId": cluster_id, "brokers": []}


def _partitions(
    asked_names: tuple[str, str, str, str], answer_names: tuple[str, str, str], **unknown: int
) -> Callable[[ServedPartition, Message, int], Message]:
    """Names in the request (topics, a topic's name, partitions, number) and in the response
    (topics, partitions, number). unknown: what -1 stands for there."""
    topics, name, partitions, number = asked_names
    out_topics, out_partitions, out_number = answer_names

    def shape(_: ServedPartition, message: Message, error: int) -> Message:
        return {
            out_topics: [
                {
                    **{key: topic[key] for key in (name, "topicId") if key in topic},
                    out_partitions: [
                        {out_number: asked[number], "errorCode": error, **unknown}
                        for asked in topic[partitions]
                    ],
                }
                for topic in message[topics]
            ]
        }

    return shape


def _configs(
    list_name: str, **more: list[Message]
) -> Callable[[ServedPartition, Message, int], Message]:
    def shape(_: ServedPartition, message: Message, error: int) -> Message:
        return {
            list_name: [
                {
                    "errorCode": error,
                    "resourceType": asked["resourceType"],
                    "resourceName": asked["resourceName"],
                    **more,
                }
                for asked in message["resources"]
            ]
        }

    return shape


_NUMBERED = ("topics", "name", "partitions", "partitionIndex")
_SHAPES: dict[int, Callable[[ServedPartition, Message, int], Message]] = {
    METADATA.key: _metadata,
    DESCRIBE_CLUSTER.key: _describe_cluster,
    FETCH.key: _partitions(
        ("topics", "topic", "partitions", "partition"),
        ("responses", "partitions", "partitionIndex"),
        highWatermark=-1,
    ),
    LIST_OFFSETS.key: _partitions(_NUMBERED, ("topics", "partitions", "partitionIndex")),
    OFFSET_FOR_LEADER_EPOCH.key: _partitions(
        ("topics", "topic", "partitions", "partition"), ("topics", "partitions", "partition")
    ),
    PRODUCE.key: _partitions(
        ("topicData", "name", "partitionData", "index"),
        ("responses", "partitionResponses", "index"),
        baseOffset=-1,
    ),
    DELETE_RECORDS.key: _partitions(
        _NUMBERED, ("topics", "partitions", "partitionIndex"), lowWatermark=-1
    ),
    DESCRIBE_CONFIGS.key: _configs("results", configs=[]),
    ALTER_CONFIGS.key: _configs("responses"),
    INCREMENTAL_ALTER_CONFIGS.key: _configs("responses"),
}
