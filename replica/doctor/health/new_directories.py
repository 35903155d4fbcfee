"""Finds leaders that were elected uncleanly, and whose brokers have lost the log directories that
held the partitions. Such a leader may have begun with an empty log, because its disk was replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from replica.doctor.health.cluster import Cluster, PartitionKey
from replica.doctor.health.rewound import VisibleChange
from replica.metadata.image.partition import UNASSIGNED_DIRECTORY, Partition
from replica.model.keys import NO_NODE, ZERO_UUID


def led_from_new_directories(
    cluster: Cluster, steps: Callable[[], Iterable[VisibleChange]]
) -> frozenset[PartitionKey]:
    """The partitions of Cluster.led_from_new_directories. steps: gives the changes that led to the
    state, newest first. It is called only if a leader was elected uncleanly. It is read until the
    former log directory of each such leader's replica is known."""
    waiting = recovering(cluster)
    found = set()
    for step in steps() if waiting else ():
        for table, key, before in step.before:
            if table != "partitions" or key not in waiting:
                continue
            now = waiting[key]
            former = None if before is None else _directory(before, now.leader)
            if former is None or _has_followed(before, now.leader):
                del waiting[key]
            elif former != _directory(now, now.leader) and former not in _UNNAMED:
                del waiting[key]
                if cluster.offline_directory(before, now.leader) is not None:
                    found.add(key)
        if not waiting:
            break
    return frozenset(found)


def recovering(cluster: Cluster) -> dict[PartitionKey, Partition]:
    """The partitions whose leader was elected uncleanly (leaderRecoveryState 1)."""
    return {
        key: one
        for key, one in cluster.partitions.items()
        if one.leader_recovery_state and one.leader != NO_NODE
    }


_UNNAMED = ZERO_UUID, UNASSIGNED_DIRECTORY


def _directory(partition: Partition, broker: int) -> str | None:
    """The id of the directory that has the broker's replica; None without such a replica."""
    if broker not in partition.replicas:
        return None
    return partition.directories[partition.replicas.index(broker)]


def _has_followed(partition: Partition, broker: int) -> bool:
    """Whether the broker was in sync with another leader, and so had all records of this leader."""
    return partition.leader not in (NO_NODE, broker) and broker in partition.isr
