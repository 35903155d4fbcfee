"""Refuses a whole request with one error, in the form of each API's response."""

from __future__ import annotations

from replica.model.kafka_errors import ErrorCode
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import Refusal
from replica.wire.header import WireRequest
from replica.wire.schema import Message


class RefusedRequestError(Exception):
    """A request, or its part about one partition, is refused. The function that makes the answer
    catches this error.

    error: the error of Kafka that is answered. why: the reason, in one line for the answer.
    """

    def __init__(self, error: ErrorCode, why: str) -> None:
        super().__init__(error, why)
        self.error = error
        self.why = why


def metadata(partition: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
    """The error beside each topic: Kafka never refuses a Metadata request as a whole (KIP-1102)."""
    topics = request.message["topics"] or []
    return {
        "brokers": [],
        "topics": [
            {
                "errorCode": int(error),
                # The request gave the topic by its id. Only newer versions allow null for the name.
                "name": topic["name"] or "",
                **({"topicId": topic["topicId"]} if "topicId" in topic else {}),
                "isInternal": False,
                "partitions": [],
            }
            for topic in topics
        ],
        "errorCode": int(ErrorCode.NONE),
    }


def describe_cluster(partition: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
    """The error for the whole request, with the cluster's id."""
    cluster_id = partition.config.cluster_id
    return {"errorCode": int(error), "clusterId": cluster_id, "brokers": []}


def of_topics(refusal: Refusal) -> Refusal:
    """The refusal for an API that asks about topics: whatever the error is, the client is told that
    it may not use the topic."""
    return lambda partition, request, error: refusal(
        partition, request, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    )


def by_partition(
    asked_names: tuple[str, str, str, str], answer_names: tuple[str, str, str], **unknown: int
) -> Refusal:
    """A refusal that puts the error beside each partition of the request.

    asked_names: the names of four fields of the request, which hold the topics, a topic's name, its
    partitions and a partition's number. answer_names: the names of three fields of the response,
    which hold the topics, the partitions and the number. unknown: further fields of a partition's
    answer, with the value that means unknown.
    """
    topics, name, partitions, number = asked_names
    out_topics, out_partitions, out_number = answer_names

    def refused(_: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
        return {
            out_topics: [
                {
                    **{key: topic[key] for key in (name, "topicId") if key in topic},
                    out_partitions: [
                        {out_number: asked[number], "errorCode": int(error), **unknown}
                        for asked in topic[partitions]
                    ],
                }
                for topic in request.message[topics]
            ]
        }

    return refused


def by_resource(list_name: str, **more: list[Message]) -> Refusal:
    """A refusal that puts the error beside each resource of the request. list_name: the name of the
    response's field that holds the resources. more: further fields of a resource's answer."""

    def refused(_: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
        return {
            list_name: [
                {
                    "errorCode": int(error),
                    "resourceType": asked["resourceType"],
                    "resourceName": asked["resourceName"],
                    **more,
                }
                for asked in request.message["resources"]
            ]
        }

    return refused
