"""Reads the JSON file of kafka-reassign-partitions: {"version": 1, "partitions": [{"topic": "t",
"partition": 0, "replicas": [1, 2]}, ...]}. A partition's log_dirs are ignored."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from replica.errors import UsageError

_TOPIC_NAME = re.compile("[a-zA-Z0-9._-]{1,249}")
"""A legal topic name (Kafka: org.apache.kafka.common.internals.Topic)."""
_MOST_REPLICAS = 2**15 - 1
"""The most replicas of a partition: a replication factor is an int16."""


class Assignment(NamedTuple):
    """The planned replicas of a partition: broker ids, the preferred leader first."""

    topic: str
    partition: int
    replicas: tuple[int, ...]


def assignments_in(text: str, path: str) -> tuple[Assignment, ...]:
    """The assignments in the file's text. Raises UsageError, which names the place and the expected
    value."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: no JSON that can be read: {error}") from error
    partitions = content.get("partitions") if isinstance(content, dict) else None
    if not isinstance(partitions, list):
        raise UsageError(
            f'{path}: expected {{"version": 1, "partitions": [...]}}, as kafka-reassign-partitions '
            "--generate prints it"
        )
    if content.get("version") != 1:
        raise UsageError(f"{path}: version {json.dumps(content.get('version'))}, expected 1")
    if not partitions:
        raise UsageError(f"{path}: partitions: none is named: there is nothing to reassign")
    found = tuple(_assignment(one, f"{path}: partitions[{i}]") for i, one in enumerate(partitions))
    seen: set[tuple[str, int]] = set()
    for place, one in enumerate(found):
        if (one.topic, one.partition) in seen:
            raise UsageError(
                f"{path}: partitions[{place}]: {one.topic}-{one.partition} is there twice"
            )
        seen.add((one.topic, one.partition))
    return found


def _assignment(one: Any, place: str) -> Assignment:
    if not isinstance(one, dict):
        raise UsageError(f"{place}: expected an object with topic, partition and replicas")
    topic, partition, replicas = (one.get(name) for name in ("topic", "partition", "replicas"))
    if not isinstance(topic, str) or _TOPIC_NAME.fullmatch(topic) is None:
        raise UsageError(f"{place}.topic: expected the name of a topic, as Kafka allows it")
    if not isinstance(partition, int) or not _is_number(partition):
        raise UsageError(f"{place}.partition: expected a whole number from 0 on")
    if not isinstance(replicas, list) or not all(map(_is_number, replicas)):
        raise UsageError(f"{place}.replicas: expected broker ids, such as [1, 2, 3]")
    if len(replicas) > _MOST_REPLICAS:
        told = f"{len(replicas)} broker ids, and Kafka's partitions have {_MOST_REPLICAS} at most"
        raise UsageError(f"{place}.replicas: {told}")
    return Assignment(topic, partition, tuple(map(int, replicas)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
