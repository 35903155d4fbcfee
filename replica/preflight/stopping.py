"""Judges whether brokers can be stopped: which partitions lose their leader or their guarantees
until the brokers are back.

A broker that is shut down in order first leaves the ISRs (Kafka: controlled shutdown). Where this
broker is the only replica in an ISR, it stays in the ISR, and the partition has no leader until the
broker is back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from replica.health.cluster import Cluster, PartitionKey, listed
from replica.health.exposure import Alike
from replica.health.placement import racks_of
from replica.metadata.image.partition import Partition
from replica.model.voters import majority
from replica.preflight.answer import Preflight, Reason, note, preflight, unknown, unsafe


def stop_brokers(cluster: Cluster, brokers: Collection[int], action: str = "") -> Preflight:
    """The stop of the brokers with these ids. If one of them is also a voter, the voter stops
    too."""
    gone = frozenset(brokers)
    offsets = cluster.offsets("partitions")
    reasons = [
        *_not_registered(cluster, gone),
        *_majority(cluster, gone),
        *(
            reason._replace(offset=offsets.get(key))
            for key, partition in sorted(cluster.partitions.items())
            if not gone.isdisjoint(partition.replicas)
            for reason in _of_partition(cluster, key, partition, gone)
        ),
    ]
    return preflight(action or f"stop brokers {listed(sorted(gone))}", reasons)


def stop_rack(cluster: Cluster, rack: str) -> Preflight:
    """The stop of all registered brokers of the rack."""
    brokers = [broker for broker, its_rack in racks_of(cluster).items() if its_rack == rack]
    action = f"stop rack {rack}, brokers {listed(sorted(brokers))}"
    if not brokers:
        return preflight(action, [unsafe(f"rack {rack}", "no registered broker is in it")])
    return stop_brokers(cluster, brokers, action)


def _not_registered(cluster: Cluster, gone: frozenset[int]) -> Iterator[Reason]:
    for broker in sorted(gone - set(cluster.values("brokers"))):
        if broker not in cluster.voters:
            yield unsafe(f"broker {broker}", "is not registered: no such broker")


def _majority(cluster: Cluster, gone: frozenset[int]) -> Iterator[Reason]:
    stopped = cluster.voters & gone
    if not stopped:
        return
    left = len(cluster.voters) - len(stopped)
    needed = majority(len(cluster.voters))
    told = f"{left} of {len(cluster.voters)} voters are left, {needed} are needed"
    yield (unsafe if left < needed else note)(f"voters {listed(sorted(stopped))}", told)


def _of_partition(
    cluster: Cluster, key: PartitionKey, partition: Partition, gone: frozenset[int]
) -> Iterator[Reason]:
    name = cluster.name_of(key)
    now = Alike.of(partition, cluster.min_isr(key, partition)).kind(cluster.live_brokers)
    left = now.without(gone)
    if not now.may_be_led:
        yield note(name, "has no replica that may lead now, before anything is stopped")
    elif not left.may_be_led:
        others = listed(sorted(left.unclean))
        more = f"; {others} would be an unclean election" if left.unclean else ""
        yield unsafe(name, f"no in-sync replica is left of {listed(partition.isr)}{more}")
    elif left.min_isr is None:
        yield unknown(
            name,
            f"min.insync.replicas is not known, {len(left.in_sync)} in sync are left: "
            "--broker-config tells the default",
        )
    elif left.is_below_min_isr:
        was = ", as now" if now.is_below_min_isr else ""
        told = f"{len(left.in_sync)} in sync are left, min.insync.replicas is {left.min_isr}{was}"
        yield (note if was and left.in_sync == now.in_sync else unsafe)(name, told)
