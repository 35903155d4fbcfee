"""Judges a planned reassignment of partitions (KIP-455)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replica.doctor.health.cluster import Cluster, PartitionKey, listed
from replica.doctor.health.placement import Racks, racks_to_spread_over, shared_rack
from replica.doctor.preflight.answer import (
    Preflight,
    Reason,
    done,
    note,
    preflight,
    unknown,
    unsafe,
)
from replica.doctor.preflight.majority import caught_up_needs
from replica.doctor.preflight.reassignment_file import Assignment
from replica.metadata.image.partition import Partition
from replica.words import counted


def reassign(cluster: Cluster, assignments: Sequence[Assignment]) -> Preflight:
    """Whether Kafka refuses the reassignment (validateManualPartitionAssignment), whether it can
    end, and whether partitions are worse off when it has ended."""
    ids = {name: topic_id for topic_id, name in cluster.values("topics").items()}
    offsets = cluster.offsets("partitions")
    racks = racks_to_spread_over(cluster)
    reasons: list[Reason] = []
    moved = changed = 0
    for one in assignments:
        key = ids.get(one.topic, ""), one.partition
        partition = cluster.partitions.get(key)
        if partition is None:
            what = "partition" if one.topic in ids else "topic"
            reasons.append(unsafe(f"{one.topic}-{one.partition}", f"there is no such {what}"))
            continue
        is_running = partition.adding_replicas or partition.removing_replicas
        changed += partition.replicas != one.replicas or bool(is_running)
        moved += len(set(one.replicas) - set(partition.replicas))
        found = _of_partition(cluster, racks, key, one.replicas)
        reasons += (reason._replace(offset=offsets[key]) for reason in found)
    if assignments and not reasons and not changed:
        reasons.append(done("partitions", "have these replicas already, in this order"))
    needs = [f"{moved} replicas are copied: disk and network for them"] * bool(moved)
    needs += caught_up_needs(cluster, {each for one in assignments for each in one.replicas})
    return preflight(f"reassign {counted(len(assignments), 'partition')}", reasons, tuple(needs))


def _of_partition(
    cluster: Cluster, racks: Racks, key: PartitionKey, replicas: tuple[int, ...]
) -> Iterator[Reason]:
    """The reasons about one partition. racks: empty if the brokers aren't in several racks."""
    name, partition = cluster.name_of(key), cluster.partitions[key]
    if not replicas:
        yield unsafe(name, "no replicas are named: Kafka refuses an empty assignment")
        return
    if len(set(replicas)) < len(replicas):
        yield unsafe(name, f"{listed(replicas)} names a broker twice: Kafka refuses it")
        return
    registered = cluster.values("brokers")
    strangers = [broker for broker in replicas if broker not in registered]
    if strangers:
        yield unsafe(name, f"brokers {listed(strangers)} are not registered: Kafka refuses it")
        return
    yield from _course(cluster, name, partition, replicas)
    yield from _result(name, partition, replicas, cluster.min_isr(key, partition))
    rack = shared_rack(racks, replicas)
    if rack is not None and shared_rack(racks, partition.replicas) is None:
        yield unsafe(name, f"all of its replicas would be in rack {rack}")


def _course(
    cluster: Cluster, name: str, partition: Partition, replicas: tuple[int, ...]
) -> Iterator[Reason]:
    """The reasons why the reassignment may not end: each new replica first has to be in sync with a
    leader."""
    added = [broker for broker in replicas if broker not in partition.replicas]
    asleep = [broker for broker in replicas if broker not in cluster.live_brokers]
    if asleep:
        yield unsafe(
            name,
            f"brokers {listed(asleep)} are fenced: the reassignment can't end before they are back",
        )
    if added and partition.leader not in cluster.live_brokers:
        yield unsafe(name, "has no leader now, from which a new replica could fetch")
    if partition.adding_replicas or partition.removing_replicas:
        yield note(name, "is being reassigned already: the new assignment takes that one's place")


def _result(
    name: str, partition: Partition, replicas: tuple[int, ...], least: int | None
) -> Iterator[Reason]:
    """The reasons about the number of replicas at the end. least: min.insync.replicas; None if
    unknown."""
    if least is None and len(replicas) < len(partition.replicas):
        yield unknown(
            name,
            f"min.insync.replicas is not known, and {len(replicas)} replicas are to be left: "
            "--broker-config FILE gives the default",
        )
    elif least is not None and len(replicas) < least:
        told = f"{len(replicas)} replicas, but min.insync.replicas is {least}"
        yield unsafe(name, f"{told}: Kafka would take records that have {len(replicas)} copies")
    elif least is not None and len(replicas) == least > 1:
        told = f"{len(replicas)} replicas, as many as min.insync.replicas: writes with acks=all end"
        reason = unsafe if len(partition.replicas) > least else note
        yield reason(name, f"{told} while any of them is away, as in each restart")
    elif len(replicas) < len(partition.replicas):
        yield note(name, f"{len(replicas)} replicas instead of {len(partition.replicas)}")
