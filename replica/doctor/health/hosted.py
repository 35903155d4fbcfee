"""The partition replicas on a node that is a voter and a broker (process.roles=broker,controller):
they may be on the disk of its metadata log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replica.doctor.health.cluster import Cluster
from replica.metadata.image.partition import UNASSIGNED_DIRECTORY
from replica.model.keys import ZERO_UUID


@dataclass(frozen=True, slots=True)
class HostedReplica:
    """A partition replica on a node."""

    partition: str
    """The partition's name."""
    directory_id: str | None
    """The id of the replica's log directory; None if no record names it."""
    is_alone: bool
    """Whether no other broker has a replica in sync."""


HostedReplicas = Mapping[int, tuple[HostedReplica, ...]]
"""The replicas of each voter that is also a broker, by its node id, in the order of the partitions'
names."""


def hosted_replicas(cluster: Cluster) -> HostedReplicas:
    """The replicas of the voters that are also registered as brokers. A voter without replicas has
    an empty tuple."""
    combined = cluster.voters & frozenset(cluster.values("brokers"))
    found: dict[int, list[HostedReplica]] = {node_id: [] for node_id in combined}
    for node_id, replica in _of_brokers(cluster):
        if node_id in found:
            found[node_id].append(replica)
    return {
        node_id: tuple(sorted(held, key=lambda one: one.partition))
        for node_id, held in found.items()
    }


def _of_brokers(cluster: Cluster) -> Iterator[tuple[int, HostedReplica]]:
    for key, partition in cluster.partitions.items():
        name = cluster.name_of(key)
        for node_id, directory in zip(partition.replicas, partition.directories, strict=True):
            is_named = directory not in (ZERO_UUID, UNASSIGNED_DIRECTORY)
            is_alone = not set(partition.isr) - {node_id}
            yield node_id, HostedReplica(name, directory if is_named else None, is_alone)
