"""Finds since when partitions refuse writes, by undoing the changes from the newest state
backwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from replica.doctor.health.cluster import Beginning, Cluster, PartitionKey
from replica.doctor.health.min_isrs import MIN_ISR, MinIsrs
from replica.doctor.health.past import VisibleChange
from replica.metadata.image.partition import Partition
from replica.model.keys import NO_NODE


def refusing_partitions(cluster: Cluster) -> frozenset[PartitionKey]:
    """The partitions that have a leader and refuse writes with acks=all."""
    refuses, partitions = refuses_writes(cluster), cluster.partitions.items()
    return frozenset(key for key, partition in partitions if refuses(key, partition))


def refuses_writes(cluster: Cluster) -> Callable[[PartitionKey, Partition], bool]:
    """A function that says whether a partition, now or earlier, had a leader and refused writes. It
    goes by the newest values of min.insync.replicas, and says no of topics that were deleted."""
    topics, refuses = cluster.values("topics"), _Refuses(cluster)

    def does(key: PartitionKey, partition: Partition) -> bool:
        is_led = partition.leader != NO_NODE and key[0] in topics
        return is_led and refuses.does(key, partition)

    return does


def refusing_since(
    cluster: Cluster, keys: frozenset[PartitionKey], steps: Iterable[VisibleChange]
) -> Mapping[PartitionKey, Beginning]:
    """The change since which each of these partitions has refused writes: one of its in-sync
    replicas or its leader, one of min.insync.replicas, or its creation. A partition that had no
    leader meanwhile refused them, too.

    steps: the changes, newest first. They are read only until all answers are known. A partition
        that refused writes before the oldest change is left out.
    """
    found: dict[PartitionKey, Beginning] = {}
    waiting = {key: cluster.partitions[key] for key in keys}
    refuses = _Refuses(cluster)
    for step in steps:
        if not waiting:
            break
        before = {key: one for table, key, one in step.before if table == "partitions"}
        changed = set(waiting) if refuses.take_back(step) else set(waiting) & before.keys()
        for key in changed:
            partition: Partition | None = before.get(key, waiting[key])
            if partition is None or not refuses.does(key, partition):
                found[key] = Beginning(step.offset, step.at)
                del waiting[key]
            else:
                waiting[key] = partition
    return found


class _Refuses:
    """Whether partitions refuse writes, by the values of min.insync.replicas of one moment."""

    def __init__(self, cluster: Cluster) -> None:
        self._topics = cluster.values("topics")
        self._defaults = cluster.broker_defaults
        self._configs = {key: one for key, one in cluster.values("configs").items() if _is_it(key)}
        self._least = MinIsrs.in_configs(self._configs, self._defaults)

    def does(self, key: PartitionKey, partition: Partition) -> bool:
        least = self._least.of(self._topics[key[0]], partition)
        return partition.leader == NO_NODE or (least is not None and len(partition.isr) < least)

    def take_back(self, step: VisibleChange) -> bool:
        """Undoes the step's changes of min.insync.replicas. Returns whether there were any."""
        earlier = dict(_of_configs(step))
        for key, value in earlier.items():
            self._configs.pop(key, None)
            if value is not None:
                self._configs[key] = value
        if earlier:
            self._least = MinIsrs.in_configs(self._configs, self._defaults)
        return bool(earlier)


def _of_configs(step: VisibleChange) -> Iterator[tuple[tuple[int, str, str], str | None]]:
    return ((key, one) for table, key, one in step.before if table == "configs" and _is_it(key))


def _is_it(key: tuple[int, str, str]) -> bool:
    return key[2] == MIN_ISR
