"""Requests name topics and partitions; a node serves one. What is the same for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ZERO_UUID
from replica.node.serve.partition import ServedPartition
from replica.wire.schema import Message

Answer = Callable[[Message], Message]
"""From a request's partition to the response's, without its number."""


def topic_error(partition: ServedPartition, topic: Message, name_field: str) -> ErrorCode:
    """Whether a request's topic is the one served here: by its id, or by name where it gives none,
    as old versions do."""
    if topic.get("topicId", ZERO_UUID) != ZERO_UUID:
        known = partition.has_id(topic["topicId"])
        return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_ID
    known = partition.has_name(topic[name_field])
    return ErrorCode.NONE if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def partition_error(error: ErrorCode, number: int) -> ErrorCode:
    """Whether a partition is the one served here; error: of its topic."""
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
    """The topics of a response: `answer` for the partition served here, an error for all others,
    and INVALID_REQUEST where it is named again: an answer costs a look into the log.

    names: of the topic's name, the list of partitions and a partition's number, in the request and
    in what is returned.
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
    """The same, for one call."""
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
