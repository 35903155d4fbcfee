"""Leaders and in-sync replicas of partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from replica.check.catalogue import health
from replica.check.rule import Finding, Rule
from replica.health.cluster import Cluster, PartitionKey, listed
from replica.metadata.image.partition import Partition
from replica.model.keys import NO_NODE

_Judge: TypeAlias = Callable[[Cluster, PartitionKey, Partition], str | None]
"""The text about a partition for which the rule holds; None where the rule doesn't hold."""


def judge_partitions(cluster: Cluster) -> Iterator[Finding]:
    """One finding for each rule that holds for at least one partition."""
    found: dict[str, dict[PartitionKey, str]] = {rule.id: {} for rule, _ in _JUDGES}
    for key, partition in cluster.partitions.items():
        if _is_plain(partition):
            continue
        for rule, judge in _JUDGES:
            told = judge(cluster, key, partition)
            if told is not None:
                found[rule.id][key] = told
    for rule, _ in _JUDGES:
        yield from cluster.about_partitions(rule, found[rule.id])


def _is_plain(partition: Partition) -> bool:
    """Whether the partition is as most are: with a leader, all replicas in sync, and no ELR."""
    return (
        partition.leader != NO_NODE
        and len(partition.isr) >= len(partition.replicas)
        and not partition.elr
    )


def _without_leader(cluster: Cluster, key: PartitionKey, partition: Partition) -> str | None:
    if partition.leader != NO_NODE or not (partition.isr or partition.elr):
        return None
    waits = f"replicas {listed(partition.replicas)}, in sync {listed(partition.isr)}"
    if partition.elr:
        waits += f", eligible {listed(partition.elr)}"
    back = [one for one in (*partition.isr, *partition.elr) if one in cluster.live_brokers]
    return f"{waits}; live of these {listed(back)}"


def _no_eligible(cluster: Cluster, key: PartitionKey, partition: Partition) -> str | None:
    if partition.leader != NO_NODE or partition.isr or partition.elr:
        return None
    return (
        f"replicas {listed(partition.replicas)}, last known eligible "
        f"{listed(partition.last_known_elr)}"
    )


def _below_min_isr(cluster: Cluster, key: PartitionKey, partition: Partition) -> str | None:
    least = cluster.min_isr(key, partition)
    if least is None or len(partition.isr) >= least or partition.leader == NO_NODE:
        return None
    return f"in sync {listed(partition.isr)}, at least {least} needed"


def _min_isr_unknown(cluster: Cluster, key: PartitionKey, partition: Partition) -> str | None:
    if cluster.min_isr(key, partition) is not None or _is_in_sync(partition):
        return None
    return f"in sync {listed(partition.isr)} of {listed(partition.replicas)}"


def _single(cluster: Cluster, key: PartitionKey, partition: Partition) -> str | None:
    if len(partition.isr) != 1 or len(partition.replicas) == 1 or partition.leader == NO_NODE:
        return None
    return f"in sync {listed(partition.isr)} of {listed(partition.replicas)}"


def _under_replicated(cluster: Cluster, key: PartitionKey, partition: Partition) -> str | None:
    if _is_in_sync(partition):
        return None
    return f"in sync {listed(partition.isr)} of {listed(partition.replicas)}"


def _eligible(cluster: Cluster, key: PartitionKey, partition: Partition) -> str | None:
    return f"eligible {listed(partition.elr)}" if partition.elr else None


def _is_in_sync(partition: Partition) -> bool:
    """Whether all replicas are in sync. Partitions without a leader count too: other rules are
    about them."""
    return partition.leader == NO_NODE or len(partition.isr) >= len(partition.replicas)


_JUDGES: tuple[tuple[Rule, _Judge], ...] = (
    (health.WITHOUT_LEADER, _without_leader),
    (health.NO_ELIGIBLE_LEADER, _no_eligible),
    (health.BELOW_MIN_ISR, _below_min_isr),
    (health.MIN_ISR_UNKNOWN, _min_isr_unknown),
    (health.SINGLE_ISR, _single),
    (health.UNDER_REPLICATED, _under_replicated),
    (health.ELIGIBLE_REPLICAS, _eligible),
)
