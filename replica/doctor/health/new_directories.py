"""Finds partitions whose leader, or the only replica that may lead, is in another log directory
than before, and whose former directory is gone: a disk was replaced, so the replica may have begun
empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from replica.doctor.health.cluster import Cluster, PartitionKey
from replica.doctor.health.live_replicas import eligible_to_lead
from replica.doctor.health.rewound import VisibleChange
from replica.metadata.image.partition import UNASSIGNED_DIRECTORY, Partition, offline_directory
from replica.model.keys import NO_NODE, ZERO_UUID

_ELECTED_AGAIN = 2
"""The least leader epoch of a partition that had a leader, lost it and got one again. The first
leader has epoch 0; the loss of a leader and the election of the next one each begin an epoch."""


def led_from_new_directories(
    cluster: Cluster, steps: Callable[[], Iterable[VisibleChange]]
) -> frozenset[PartitionKey]:
    """The partitions of Cluster.led_from_new_directories. steps: gives the changes that led to the
    state, newest first. It is called only if may_have_begun_empty has partitions, and its result is
    read until the former directory of each of them is known."""
    waiting = may_have_begun_empty(cluster)
    found = set()
    online: dict[int, frozenset[str] | None] = {**cluster.online_directories}
    for step in steps() if waiting else ():
        for table, key, before in step.before:
            if table == "brokers":
                online[key] = frozenset(before["logDirs"] or ()) or None if before else None
        for table, key, before in step.before:
            if table != "partitions" or key not in waiting:
                continue
            holder = only_holder(waiting[key])
            now, former = _directory(waiting[key], holder), _directory(before, holder)
            if before is None or former is None or _has_followed(before, holder):
                del waiting[key]
            elif former != now and former not in _UNNAMED:
                del waiting[key]
                if offline_directory(before, holder, online.get(holder)) is not None:
                    found.add(key)
        if not waiting:
            break
    return frozenset(found)


def may_have_begun_empty(cluster: Cluster) -> dict[PartitionKey, Partition]:
    """The partitions whose leader was elected uncleanly (leaderRecoveryState 1), and those that
    only one replica leads or may lead and that have lost their leader before."""
    return {
        key: one
        for key, one in cluster.partitions.items()
        if (one.leader_recovery_state and one.leader != NO_NODE)
        or (
            one.leader_epoch >= _ELECTED_AGAIN - (one.leader == NO_NODE)
            and only_holder(one) != NO_NODE
        )
    }


def only_holder(partition: Partition) -> int:
    """The leader of a partition, if the leader was elected uncleanly; else the only replica that
    may lead without an unclean election. NO_NODE if there are several such replicas or none."""
    if partition.leader_recovery_state and partition.leader != NO_NODE:
        return partition.leader
    able = eligible_to_lead(partition)
    return able[0] if len(able) == 1 else NO_NODE


_UNNAMED = ZERO_UUID, UNASSIGNED_DIRECTORY


def _directory(partition: Partition | None, broker: int) -> str | None:
    """The id of the directory that has the broker's replica; None without such a replica."""
    if partition is None or broker not in partition.replicas:
        return None
    return partition.directories[partition.replicas.index(broker)]


def _has_followed(partition: Partition, broker: int) -> bool:
    """Whether the broker was in sync with another leader, and so had all records of that leader."""
    return partition.leader not in (NO_NODE, broker) and broker in partition.isr
