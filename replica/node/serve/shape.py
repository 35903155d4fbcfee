"""The form that all requests about topics and their responses share: an array of topics, each with
an array of partitions. A node serves one partition of one topic."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import NamedTuple

from replica.message.schema import Kind
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ZERO_UUID
from replica.node.serve.partition import ServedPartition
from replica.node.translate.partition import topics_field
from replica.wire.header import WireRequest
from replica.wire.schema import Message, Structure


class _Names(NamedTuple):
    """The names of four fields of a message: the topics, a topic's name, its partitions, and a
    partition's number."""

    topics: str
    name: str
    partitions: str
    number: str


@cache
def _names(structure: Structure) -> _Names:
    """The names of the four fields in a request or response about topics."""
    topics = topics_field(structure)
    assert topics is not None, f"{structure.name} has no topics"
    name, partitions = topics.fields[0], topics.fields[-1]
    number = next(each.name for each in partitions.fields if each.kind is Kind.INT32)
    return _Names(topics.name, name.name, partitions.name, number)


def by_topic(request: WireRequest, entry: Callable[[Message, Message], Message]) -> Message:
    """The topics of the response. entry: a function that makes a partition's entry in the response,
    without the partition's number, from the topic and the partition in the request."""
    asked, told = _names(request.api.request), _names(request.api.response)
    return {
        told.topics: [
            {
                **{key: topic[key] for key in (asked.name, "topicId") if key in topic},
                told.partitions: [
                    {told.number: each[asked.number], **entry(topic, each)}
                    for each in topic[asked.partitions]
                ],
            }
            for topic in request.message[asked.topics]
        ]
    }


async def each_partition(
    partition: ServedPartition,
    request: WireRequest,
    answer: Callable[[Message], Awaitable[Message]],
    unknown: Callable[[], Message] = dict,
) -> Message:
    """The topics of the response. Partitions that this node doesn't serve get an error. If the
    request names the served partition again, the further entries get INVALID_REQUEST, because each
    answer would read the log.

    answer: a function that makes the response's entry of the served partition, without the
        partition's number, from its entry in the request.
    unknown: a function that gives the further fields of an entry with an error. This function is
        called when the entry is made.
    """
    asked = _names(request.api.request)
    served = [
        each
        for topic in request.message[asked.topics]
        if _topic_error(partition, topic, asked.name) is ErrorCode.NONE
        for each in topic[asked.partitions]
        if each[asked.number] == 0
    ]
    found = await answer(served[0]) if served else {}

    def entry(topic: Message, each: Message) -> Message:
        if served and each is served[0]:
            return found
        error = _topic_error(partition, topic, asked.name)
        if error is ErrorCode.NONE:
            is_named_again = each[asked.number] == 0
            unserved = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            error = ErrorCode.INVALID_REQUEST if is_named_again else unserved
        return {"errorCode": int(error), **unknown()}

    return by_topic(request, entry)


def _topic_error(partition: ServedPartition, topic: Message, name_field: str) -> ErrorCode:
    """The error for another topic; NONE if a request names the topic that this node serves: by its
    id, or by its name in old versions of the request, which have no id."""
    if topic.get("topicId", ZERO_UUID) != ZERO_UUID:
        known = topic["topicId"] == partition.topic.id
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_ID
    known = topic[name_field] == partition.topic.name
    return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
