"""The placement of leaders and replicas: preferred leaders, and racks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding
from replica.doctor.health.cluster import Cluster, PartitionKey, listed
from replica.model.keys import NO_NODE

Racks: TypeAlias = Mapping[int, str]
"""Broker id -> rack, for brokers that have a rack."""


def judge_placement(cluster: Cluster) -> Iterator[Finding]:
    """The rules about preferred leaders and racks."""
    yield from cluster.about_partitions(health.NOT_PREFERRED, dict(_not_preferred(cluster)))
    yield from cluster.about_partitions(health.ONE_RACK, dict(_in_one_rack(cluster)))


def racks_of(cluster: Cluster) -> Racks:
    """The rack of each registered broker that has one."""
    return {
        broker_id: fields["rack"]
        for broker_id, fields in cluster.values("brokers").items()
        if fields["rack"]
    }


def racks_to_spread_over(cluster: Cluster) -> Racks:
    """The result of racks_of if there are several racks; else empty."""
    racks = racks_of(cluster)
    return racks if len(set(racks.values())) > 1 else {}


def shared_rack(racks: Racks, replicas: Sequence[int]) -> str | None:
    """The rack that holds all replicas of a partition. None if they are in several racks, if there
    is only one replica, or if the rack of a replica is unknown."""
    if len(replicas) < 2:
        return None
    held = {racks.get(broker_id) for broker_id in replicas}
    return held.pop() if len(held) == 1 else None


def _not_preferred(cluster: Cluster) -> Iterator[tuple[PartitionKey, str]]:
    for key, partition in cluster.partitions.items():
        first = partition.replicas[0] if partition.replicas else NO_NODE
        if partition.leader not in (NO_NODE, first):
            yield key, f"led by {partition.leader}, preferred is {first}"


def _in_one_rack(cluster: Cluster) -> Iterator[tuple[PartitionKey, str]]:
    racks = racks_to_spread_over(cluster)
    if not racks:
        return
    for key, partition in cluster.partitions.items():
        rack = shared_rack(racks, partition.replicas)
        if rack is not None:
            yield key, f"replicas {listed(partition.replicas)}, all in rack {rack}"
