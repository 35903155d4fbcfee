"""min.insync.replicas of partitions, as Kafka chooses it from the configs of one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replica.metadata.image.partition import Partition
from replica.metadata.image.state import TOPIC_RESOURCE

BROKER_RESOURCE = 4
"""Kafka's ConfigResource.Type.BROKER. Its empty name is the default of all brokers."""
MIN_ISR = "min.insync.replicas"
_INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class MinIsrs:
    """The values of min.insync.replicas that are numbers."""

    topics: Mapping[str, int]
    """The values of topics, by the topic's name."""
    brokers: Mapping[int, int]
    """The values of brokers, by the broker's id."""
    default: int | None
    """The default of all brokers; None if unknown."""

    @staticmethod
    def in_configs(configs: Mapping[Any, Any], broker_defaults: Mapping[str, str]) -> MinIsrs:
        """The values in these configs. configs: the values of an image's table `configs`.
        broker_defaults: see Cluster."""
        topics: dict[str, int] = {}
        brokers: dict[int, int] = {}
        for (resource_type, resource, name), value in configs.items():
            number = _positive(value) if name == MIN_ISR else None
            if number is None:
                continue
            if resource_type == TOPIC_RESOURCE:
                topics[resource] = number
            elif resource_type == BROKER_RESOURCE and _number(resource) is not None:
                brokers[int(resource)] = number
        dynamic = configs.get((BROKER_RESOURCE, "", MIN_ISR))
        default = broker_defaults.get(MIN_ISR) if dynamic is None else dynamic
        return MinIsrs(topics, brokers, _positive(default))

    def of(self, topic: str, partition: Partition) -> int | None:
        """The min.insync.replicas that holds for a partition of the topic: at most its number of
        replicas. None if neither the log nor a broker's file has a value.

        Kafka takes the first existing value of these: the topic's config, the leader's config, the
        default of all brokers, the leader's file.
        """
        replicas = len(partition.replicas)
        if replicas <= 1:
            return replicas
        configured = self.topics.get(topic)
        if configured is None:
            configured = self.brokers.get(partition.leader, self.default)
        return None if configured is None else min(configured, replicas)


def _positive(text: str | None) -> int | None:
    """A whole number from 1 on, as Kafka accepts it; None for any other text, such as a redacted
    one."""
    number = _number("" if text is None else text.strip())
    return number if number is not None and number > 0 else None


def _number(text: str) -> int | None:
    """An int32 that is written with digits only; None for other text."""
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(_INT32_MAX)):
        return None
    number = int(text)
    return number if number <= _INT32_MAX else None
