"""Where replicas and leaders lie: preferred leaders, and racks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from replica.check.catalogue.health import partitions
from replica.check.rule import Finding, Rule, Subject
from replica.health.cluster import Cluster, PartitionKey, listed
from replica.model.keys import NO_NODE


def judge_placement(cluster: Cluster) -> Iterator[Finding]:
    """The rules about preferred leaders and racks."""
    yield from _counted(cluster, partitions.NOT_PREFERRED, dict(_not_preferred(cluster)))
    yield from _counted(cluster, partitions.ONE_RACK, dict(_in_one_rack(cluster)))


def racks_of(cluster: Cluster) -> dict[int, str]:
    """The rack of each registered broker that has one."""
    return {
        broker_id: fields["rack"]
        for broker_id, fields in cluster.values("brokers").items()
        if fields["rack"]
    }


def _not_preferred(cluster: Cluster) -> Iterator[tuple[PartitionKey, str]]:
    for key, partition in cluster.partitions.items():
        first = partition.replicas[0] if partition.replicas else NO_NODE
        if partition.leader not in (NO_NODE, first):
            yield key, f"led by {partition.leader}, preferred is {first}"


def _in_one_rack(cluster: Cluster) -> Iterator[tuple[PartitionKey, str]]:
    racks = racks_of(cluster)
    if len(set(racks.values())) < 2:
        return
    for key, partition in cluster.partitions.items():
        if len(partition.replicas) < 2:
            continue
        held = {racks.get(broker_id) for broker_id in partition.replicas}
        if len(held) == 1 and None not in held:
            (rack,) = held
            yield key, f"replicas {listed(partition.replicas)}, all in rack {rack}"


def _counted(cluster: Cluster, rule: Rule, told: Mapping[PartitionKey, str]) -> Iterator[Finding]:
    if not told:
        return
    offsets = cluster.offsets("partitions")
    named = sorted((cluster.name_of(key), key) for key in told)
    subjects = [Subject(name, told[key], offsets[key]) for name, key in named]
    yield rule.of(cluster.file, f"{len(told)} of {len(cluster.partitions)} partitions", subjects)
