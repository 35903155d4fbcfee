"""The partitions of a cluster and their min.insync.replicas at earlier moments. Each step undoes
one change of the newest state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from replica.doctor.health.cluster import Cluster, PartitionKey
from replica.doctor.health.min_isrs import BROKER_RESOURCE, MIN_ISR, MinIsrs
from replica.metadata.image.partition import Partition
from replica.metadata.image.state import TOPIC_RESOURCE
from replica.model.keys import NO_NODE

WATCHED = ("topics", "partitions", "brokers", "configs", "voters")
"""The tables of an image whose changes a VisibleChange lists."""


class VisibleChange(NamedTuple):
    """The changes that became visible at one offset."""

    offset: int
    at: int | None
    """The time of the records, in ms since 1970 (UTC); None if the batch has no time."""
    before: tuple[tuple[str, Any, Any], ...]
    """(table, key, earlier value) of each changed entity. The value is as in the tables of an
    Image; None if the entity didn't exist."""


class RewoundPartitions:
    """The partitions at one moment: at first that of the newest state. Each take_back moves the
    moment back by one change.

    partitions, topics, configs: the values of the newest image's tables. broker_defaults: see
    Cluster.
    """

    def __init__(
        self,
        partitions: Mapping[PartitionKey, Partition],
        topics: Mapping[str, str],
        configs: Mapping[Any, str],
        broker_defaults: Mapping[str, str],
    ) -> None:
        self.partitions = dict(partitions)
        self._topics, self._defaults = dict(topics), broker_defaults
        self._configs = {key: value for key, value in configs.items() if key[2] == MIN_ISR}
        self._min_isrs = MinIsrs.in_configs(self._configs, self._defaults)
        self._of_topic: defaultdict[str, set[PartitionKey]] = defaultdict(set)
        for key in self.partitions:
            self._of_topic[key[0]].add(key)

    @staticmethod
    def of(cluster: Cluster) -> RewoundPartitions:
        """The partitions as they are in the newest state of the cluster."""
        partitions, topics, configs = map(cluster.values, ("partitions", "topics", "configs"))
        return RewoundPartitions(partitions, topics, configs, cluster.broker_defaults)

    def take_back(self, step: VisibleChange) -> set[PartitionKey]:
        """Undoes the next older change. Returns the partitions that it changed, or whose
        min.insync.replicas it may have changed."""
        before: dict[str, dict[Any, Any]] = {table: {} for table in WATCHED}
        for table, key, value in step.before:
            before[table][key] = value
        put_all(self._topics, before["topics"])
        changed = self._take_back_configs(before["configs"])
        put_all(self.partitions, before["partitions"])
        for key, value in before["partitions"].items():
            if value is None:
                self._of_topic[key[0]].discard(key)
            else:
                self._of_topic[key[0]].add(key)
        return changed | before["partitions"].keys()

    def min_isr(self, key: PartitionKey) -> int | None:
        """The partition's min.insync.replicas at this moment; None if unknown: see MinIsrs.of."""
        return self._min_isrs.of(self._topics.get(key[0], ""), self.partitions[key])

    def name_of(self, key: PartitionKey) -> str:
        """The partition's name, such as orders-3; "" if its topic isn't known."""
        topic = self._topics.get(key[0])
        return f"{topic}-{key[1]}" if topic else ""

    def has_no_leader(self, key: PartitionKey) -> bool:
        """Whether the partition has no leader at this moment."""
        return self.partitions[key].leader == NO_NODE

    def refuses_writes(self, key: PartitionKey) -> bool:
        """Whether the partition has a leader at this moment, and refuses writes with acks=all."""
        least = self.min_isr(key)
        is_short = least is not None and len(self.partitions[key].isr) < least
        return is_short and not self.has_no_leader(key)

    def _take_back_configs(self, before: Mapping[Any, Any]) -> set[PartitionKey]:
        """Undoes changes of configs. Returns the partitions whose min.insync.replicas may have
        changed."""
        mine = {key: value for key, value in before.items() if key[2] == MIN_ISR}
        if not mine:
            return set()
        put_all(self._configs, mine)
        self._min_isrs = MinIsrs.in_configs(self._configs, self._defaults)
        if any(resource_type == BROKER_RESOURCE for resource_type, _, _ in mine):
            return set(self.partitions)
        topics = {resource for kind, resource, _ in mine if kind == TOPIC_RESOURCE}
        ids = [topic_id for topic_id, name in self._topics.items() if name in topics]
        return {key for topic_id in ids for key in self._of_topic[topic_id]}


def put_all(held: dict[Any, Any], before: Mapping[Any, Any]) -> None:
    """Restores each earlier value; None removes the key."""
    for key, value in before.items():
        if value is None:
            held.pop(key, None)
        else:
            held[key] = value
