"""Refuses a whole request with one error, in the form of each API's response."""

from __future__ import annotations

from replica.model.kafka_errors import ErrorCode
from replica.node.serve.cluster import without_topic
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import Refusal
from replica.node.serve.shape import by_topic
from replica.wire.header import WireRequest
from replica.wire.schema import Message


def metadata(partition: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
    """An answer with the error for each topic: Kafka never refuses a Metadata request as a whole
    (KIP-1102)."""
    # all versions allow an empty name for a topic that the request identifies by its id
    topics = [without_topic(topic, error, no_name="") for topic in request.message["topics"] or ()]
    return {"brokers": [], "topics": topics, "errorCode": int(ErrorCode.NONE)}


def describe_cluster(partition: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
    """The error for the whole request, with the cluster's id."""
    cluster_id = partition.driver.config.cluster_id
    return {"errorCode": int(error), "clusterId": cluster_id, "brokers": []}


def of_topics(refusal: Refusal) -> Refusal:
    """The refusal for an API about topics: whatever the error is, the answer says that the client
    may not use the topic."""
    return lambda partition, request, error: refusal(
        partition, request, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    )


def by_partition(**unknown: int) -> Refusal:
    """A refusal with the error for each partition of the request. unknown: further fields of a
    partition's answer, with the values that mean unknown."""
    return lambda partition, request, error: by_topic(
        request, lambda topic, asked: {"errorCode": int(error), **unknown}
    )


def by_resource(list_name: str, **more: list[Message]) -> Refusal:
    """A refusal with the error for each resource of the request. list_name: the name of the
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
