"""Finds since when partitions have no leader, by taking the newest state back record by record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from replica.health.cluster import Beginning, Cluster, PartitionKey
from replica.health.past import VisibleChange
from replica.model.keys import NO_NODE


def leaderless_partitions(cluster: Cluster) -> frozenset[PartitionKey]:
    """The partitions that have no leader."""
    partitions = cluster.partitions.items()
    return frozenset(key for key, partition in partitions if partition.leader == NO_NODE)


def leaderless_since(
    keys: frozenset[PartitionKey], steps: Iterable[VisibleChange]
) -> Mapping[PartitionKey, Beginning]:
    """The change with which each of the partitions lost its leader, or was made without one.

    steps: the changes, newest first; they are read only until all is known. A partition that had no
    leader before the oldest of them is left out.
    """
    found: dict[PartitionKey, Beginning] = {}
    for step in steps:
        if len(found) == len(keys):
            break
        for table, key, before in step.before:
            if table != "partitions" or key not in keys or key in found:
                continue
            if before is None or before.leader != NO_NODE:
                found[key] = Beginning(step.offset, step.at)
    return found
