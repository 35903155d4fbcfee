"""Finds since when partitions refuse writes, by undoing the changes from the newest state
backwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from replica.doctor.health.cluster import Beginning, Cluster, PartitionKey
from replica.doctor.health.rewound import RewoundPartitions, VisibleChange


def refusing_partitions(cluster: Cluster) -> frozenset[PartitionKey]:
    """The partitions that have a leader and refuse writes with acks=all."""
    now = RewoundPartitions.of(cluster)
    return frozenset(key for key in now.partitions if now.refuses_writes(key))


def still_refusing(cluster: Cluster) -> Mapping[str, tuple[int, ...]]:
    """The partitions that refuse writes even after all brokers that aren't live are back: each name
    with the brokers, if any, whose replica lies in a log directory that is offline."""
    found = {}
    for key in refusing_partitions(cluster):
        partition = cluster.partitions[key]
        lost = {
            one
            for one in partition.replicas
            if cluster.offline_directory(partition, one) is not None
        }
        back = set(partition.replicas) - cluster.live_brokers - lost
        if len(back.union(partition.isr)) < (cluster.min_isr(key, partition) or 0):
            found[cluster.name_of(key)] = (*sorted(lost),)
    return found


def refusing_since(
    cluster: Cluster, keys: frozenset[PartitionKey], steps: Iterable[VisibleChange]
) -> Mapping[PartitionKey, Beginning]:
    """The change since which each of these partitions has refused writes: a change of its in-sync
    replicas, of its leader or of min.insync.replicas, or its creation. While a partition had no
    leader, it refused writes, too.

    steps: the changes, newest first. They are read only until all answers are known. A partition
        that refused writes before the oldest change is left out.
    """
    found: dict[PartitionKey, Beginning] = {}
    waiting, then = set(keys), RewoundPartitions.of(cluster)
    for step in steps:
        if not waiting:
            break
        for key in waiting & then.take_back(step):
            is_there = key in then.partitions
            if not is_there or not (then.has_no_leader(key) or then.refuses_writes(key)):
                found[key] = Beginning(step.offset, step.at)
                waiting.remove(key)
    return found
