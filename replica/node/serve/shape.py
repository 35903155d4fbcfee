"""What all requests about topics have in common: they name topics and partitions, of which a node
serves one partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ZERO_UUID
from replica.node.serve.partition import ServedPartition
from replica.wire.schema import Message

Answer = Callable[[Message], Message]
"""A function that makes a partition's entry in the response from its entry in the request. The
partition's number is added later."""


def topic_error(partition: ServedPartition, topic: Message, name_field: str) -> ErrorCode:
    """NONE where a request names the topic that is served here: by its id, or by its name in old
    versions of the request, which have no id."""
    if topic.get("topicId", ZERO_UUID) != ZERO_UUID:
        known = partition.has_id(topic["topicId"])
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_ID
    known = partition.has_name(topic[name_field])
    return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def partition_error(error: ErrorCode, number: int) -> ErrorCode:
    """NONE where a partition is the one that is served here. error: the error of its topic. number:
    the partition's number."""
    if error is ErrorCode.NONE and number != 0:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return error


def each_partition(
    partition: ServedPartition,
    topics: list[Message],
    answer: Answer,
    *,
    names: tuple[str, str, str],
) -> list[Message]:
    """The topics of a response. `answer` makes the entry of the partition that is served here; all
    other partitions get an error. If the request names the partition twice, the second entry gets
    INVALID_REQUEST, because each answer would read the log.

    names: the names of the fields that hold a topic's name, its partitions and a partition's
    number, in the request as well as in the response.
    """
    name, partitions, number = names
    found = []
    first = _once(answer)
    for topic in topics:
        error = topic_error(partition, topic, name)
        answers = [
            {number: asked[number], **_answered(error, asked[number], first, asked)}
            for asked in topic[partitions]
        ]
        identity: dict[str, Any] = {key: topic[key] for key in (name, "topicId") if key in topic}
        found.append({**identity, partitions: answers})
    return found


def _once(answer: Answer) -> Answer:
    """Calls `answer` once. Further calls get INVALID_REQUEST."""
    has_answered = False

    def first(asked: Message) -> Message:
        nonlocal has_answered
        if has_answered:
            return {"errorCode": int(ErrorCode.INVALID_REQUEST)}
        has_answered = True
        return answer(asked)

    return first


def _answered(error: ErrorCode, number: int, answer: Answer, asked: Message) -> Message:
    error = partition_error(error, number)
    return answer(asked) if error is ErrorCode.NONE else {"errorCode": int(error)}
