"""The placement of leaders and replicas: preferred leaders, racks, and the number of replicas."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Subject
from replica.doctor.health.cluster import Cluster, PartitionKey, and_more, listed
from replica.metadata.image.partition import Partition
from replica.model.keys import NO_NODE
from replica.words import counted

Racks: TypeAlias = Mapping[int, str]
"""Broker id -> rack, for brokers that have a rack."""


def judge_placement(cluster: Cluster) -> Iterator[Finding]:
    """Findings of the rules about preferred leaders, racks and numbers of replicas."""
    yield from cluster.about_partitions(health.NOT_PREFERRED, dict(_not_preferred(cluster)))
    yield from cluster.about_partitions(health.ONE_RACK, dict(_in_one_rack(cluster)))
    yield from cluster.about_partitions(health.NO_SPARE_REPLICA, dict(_without_spare(cluster)))
    yield from _with_other_counts(cluster)


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


def staying(partition: Partition) -> tuple[int, ...]:
    """The replicas that a partition has once a running reassignment has ended."""
    leaving = partition.removing_replicas
    if not leaving:
        return partition.replicas
    return tuple(one for one in partition.replicas if one not in leaving)


def _without_spare(cluster: Cluster) -> Iterator[tuple[PartitionKey, str]]:
    """The partitions that refuse writes with acks=all as soon as one replica is out of sync, each
    with a text. Partitions with a single replica are left out, because they have no other replica
    to lose."""
    named = cluster.min_isrs
    most = max((*named.topics.values(), *named.brokers.values(), named.default or 0))
    for key, partition in cluster.partitions.items():
        replicas = staying(partition)
        if not 1 < len(replicas) <= most:
            continue
        least = cluster.min_isr(key, partition)
        if least is not None and len(replicas) <= least:
            yield key, f"replicas {listed(replicas)}, min.insync.replicas is {least}"


def _with_other_counts(cluster: Cluster) -> Iterator[Finding]:
    """The finding about the topics whose partitions have different numbers of replicas."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for (topic_id, _), partition in cluster.partitions.items():
        counts[topic_id][len(staying(partition))] += 1
    mixed = {topic_id: found for topic_id, found in counts.items() if len(found) > 1}
    if not mixed:
        return
    names, offsets = cluster.values("topics"), cluster.offsets("partitions")
    fewer: dict[str, list[PartitionKey]] = defaultdict(list)
    for key, partition in sorted(cluster.partitions.items()):
        if key[0] in mixed and len(staying(partition)) < max(mixed[key[0]]):
            fewer[key[0]].append(key)
    subjects = [
        Subject(
            f"topic {names[topic_id]}",
            f"{_counts_text(mixed[topic_id])}; fewer than the others: "
            f"{and_more([cluster.name_of(key) for key in keys])}",
            max(offsets[key] for key in keys),
        )
        for topic_id, keys in sorted(fewer.items(), key=lambda one: str(names[one[0]]))
    ]
    yield from cluster.about(
        health.REPLICA_COUNTS_DIFFER, f"{len(mixed)} of {len(counts)} topics", subjects
    )


def _counts_text(counts: Counter[int]) -> str:
    """A text such as `1 partition with 2 replicas, 5 partitions with 3 replicas`."""
    return ", ".join(
        f"{counted(partitions, 'partition')} with {counted(replicas, 'replica')}"
        for replicas, partitions in sorted(counts.items())
    )
