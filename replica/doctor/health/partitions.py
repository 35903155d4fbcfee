"""Judges the leaders and the in-sync replicas of partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replica.doctor.check.catalogue import health
from replica.doctor.check.rule import Finding, Rule
from replica.doctor.health.cluster import Cluster, PartitionKey, listed
from replica.doctor.health.new_directories import only_holder
from replica.metadata.image.partition import Partition
from replica.model.keys import NO_NODE
from replica.words import named

_RULES = (
    health.WITHOUT_LEADER, health.NO_ELIGIBLE_LEADER, health.BELOW_MIN_ISR, health.MIN_ISR_UNKNOWN,
    health.LEADER_IN_NEW_DIRECTORY, health.UNCLEAN_LEADER, health.UNCLEAN_ONLY_REPLICA,
    health.SINGLE_ISR, health.UNDER_REPLICATED, health.ELIGIBLE_REPLICAS,
)  # fmt: skip


def judge_partitions(cluster: Cluster) -> Iterator[Finding]:
    """One finding for each rule that holds for at least one partition."""
    found: dict[str, dict[PartitionKey, str]] = {rule.id: {} for rule in _RULES}
    for key, partition in cluster.partitions.items():
        if key in cluster.led_from_new_directories or not _is_plain(partition):
            for rule, told in _judge(cluster, key, partition):
                found[rule.id][key] = told
    for rule in _RULES:
        yield from cluster.about_partitions(rule, found[rule.id])


def _is_plain(partition: Partition) -> bool:
    """Whether the partition is in the usual state: a leader that was elected cleanly, all replicas
    in sync, and no ELR."""
    return (
        partition.leader != NO_NODE
        and not partition.leader_recovery_state
        and len(partition.isr) >= len(partition.replicas)
        and not partition.elr
    )


def _judge(cluster: Cluster, key: PartitionKey, partition: Partition) -> Iterator[tuple[Rule, str]]:
    """(rule, text about the partition) for each rule that holds for it."""
    isr, elr, replicas = partition.isr, partition.elr, partition.replicas
    in_sync = f"in sync {listed(isr)}"
    if partition.leader != NO_NODE:
        least = cluster.min_isr(key, partition)
        if least is not None and len(isr) < least:
            yield health.BELOW_MIN_ISR, f"{in_sync}, at least {least} needed"
        if least is None and len(isr) < len(replicas):
            yield health.MIN_ISR_UNKNOWN, f"{in_sync} of {listed(replicas)}"
        if len(isr) == 1 and len(replicas) != 1:
            yield health.SINGLE_ISR, f"{in_sync} of {listed(replicas)}"
        if len(isr) < len(replicas):
            yield health.UNDER_REPLICATED, f"{in_sync} of {listed(replicas)}"
    elif isr or elr:
        eligible = f", eligible {listed(elr)}" if elr else ""
        told = f"replicas {listed(replicas)}, {in_sync}{eligible}"
        yield health.WITHOUT_LEADER, told + _who_is_back(cluster, partition, (*isr, *elr))
    else:
        last = partition.last_known_elr
        told = f"replicas {listed(replicas)}, last known eligible {listed(last)}"
        if last:
            told += _who_is_back(cluster, partition, last)
        yield health.NO_ELIGIBLE_LEADER, told
    yield from _may_lack_records(cluster, key, partition)
    if elr:
        yield health.ELIGIBLE_REPLICAS, f"eligible {listed(elr)}"


def _may_lack_records(
    cluster: Cluster, key: PartitionKey, partition: Partition
) -> Iterator[tuple[Rule, str]]:
    """(rule, text about the partition) for each rule that holds because the partition's leader was
    elected uncleanly, or because the partition is one of Cluster.led_from_new_directories."""
    is_new, is_alone = key in cluster.led_from_new_directories, len(partition.replicas) == 1
    if is_new:
        yield health.LEADER_IN_NEW_DIRECTORY, _began_again(partition)
    is_unclean = partition.leader_recovery_state and partition.leader != NO_NODE
    if is_unclean and not (is_new and is_alone):
        told = f"led by {partition.leader} of {listed(partition.replicas)}"
        yield health.UNCLEAN_ONLY_REPLICA if is_alone else health.UNCLEAN_LEADER, told


def _began_again(partition: Partition) -> str:
    """A text about a partition of Cluster.led_from_new_directories."""
    holder, of_all = only_holder(partition), f"replicas {listed(partition.replicas)}"
    told = f"only broker {holder} may lead it"
    if partition.leader != NO_NODE:
        told = f"broker {holder} leads it"
    return f"{told}, whose former log directory is gone; {of_all}"


def _who_is_back(cluster: Cluster, partition: Partition, ids: Sequence[int]) -> str:
    """A text that says which of these replicas are live, and which of the live ones have lost their
    directory."""
    live = [one for one in ids if one in cluster.live_brokers]
    lost = [one for one in live if not cluster.can_lead(partition, one)]
    back = [one for one in live if one not in lost]
    told = f"; {_brokers(back)} up" if back else ""
    if lost:
        own = "its replica" if len(lost) == 1 else "their replicas"
        told += f"; {_brokers(lost)} up, without the log directory of {own}"
    return told or "; none of these is up"


def _brokers(ids: Sequence[int]) -> str:
    """A text such as `broker 3 is`."""
    return f"{named('broker', [str(one) for one in ids])} {'is' if len(ids) == 1 else 'are'}"
