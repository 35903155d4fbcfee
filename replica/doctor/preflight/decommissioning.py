"""Judges whether brokers can be removed from the cluster for good: which replicas have to move
first, whether the other brokers can take them, and whether the quorum still needs the node.

Kafka lets a broker be unregistered at any time (UnregisterBroker, ReplicationControlManager
.handleBrokerUnregistered): its replicas stay in the assignments, and their partitions stay
under-replicated until somebody reassigns them. So a broker with replicas is not called safe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from replica.doctor.health.cluster import Cluster, PartitionKey, listed
from replica.doctor.health.placement import Racks, racks_to_spread_over
from replica.doctor.preflight.answer import Preflight, Reason, note, preflight, unsafe
from replica.doctor.preflight.majority import caught_up_needs
from replica.doctor.preflight.stopping import not_registered
from replica.metadata.image.partition import Partition
from replica.model.control import KRAFT_VERSION
from replica.shell_text import line
from replica.words import counted, named


@dataclass(frozen=True, slots=True)
class _Leaving:
    """The brokers that will leave, and their replicas."""

    cluster: Cluster
    brokers: frozenset[int]
    """The ids of the brokers that will leave."""
    takers: frozenset[int]
    """The brokers that stay and can take new replicas: they are live, and not all of their log
    directories are cordoned (KIP-1066)."""
    held: Mapping[PartitionKey, Partition]
    """The partitions with a replica on a broker that will leave."""
    racks: Racks
    """The racks of all brokers; empty if the brokers aren't in several racks."""


def decommission(cluster: Cluster, brokers: Collection[int]) -> Preflight:
    """The removal of the brokers with these ids. It is safe if they hold no replicas and aren't
    voters."""
    leaving = _leaving(cluster, frozenset(brokers))
    stuck = dict(_stuck(leaving))
    reasons = [
        *not_registered(leaving.cluster, leaving.brokers),
        *_of_voters(leaving),
        *_of_brokers(leaving, frozenset(stuck)),
        *_of_racks(leaving),
        *stuck.values(),
    ]
    return preflight(f"decommission brokers {listed(sorted(brokers))}", reasons, _needs(leaving))


def _leaving(cluster: Cluster, brokers: frozenset[int]) -> _Leaving:
    registered = cluster.values("brokers")
    takers = {one for one in cluster.live_brokers if not _is_cordoned(registered[one])}
    held = {
        key: partition
        for key, partition in sorted(cluster.partitions.items())
        if not brokers.isdisjoint(partition.replicas)
    }
    racks = racks_to_spread_over(cluster)
    return _Leaving(cluster, brokers, frozenset(takers - brokers), held, racks)


def _is_cordoned(registration: Mapping[str, Any]) -> bool:
    cordoned, directories = registration["cordonedLogDirs"], registration["logDirs"]
    return bool(directories) and cordoned is not None and set(directories) <= set(cordoned)


def _needs(leaving: _Leaving) -> tuple[str, ...]:
    registered = leaving.cluster.values("brokers")
    unregister = (
        f"after broker {one} has stopped: unregister it (kafka-cluster.sh)"
        for one in sorted(leaving.brokers & registered.keys())
    )
    takers = leaving.takers if leaving.held else ()
    return (*unregister, *caught_up_needs(leaving.cluster, takers))


def _of_voters(leaving: _Leaving) -> Iterator[Reason]:
    for voter in sorted(leaving.brokers & leaving.cluster.voters):
        told = (
            "controller.quorum.voters of all nodes names it (static voters): make the voters "
            "dynamic first (--to-dynamic), or change that line on all nodes and restart them"
        )
        if leaving.cluster.level(KRAFT_VERSION) > 0:
            plan = line("kraftlake", "plan", "--remove-voter", str(voter))
            told = f"has to leave the voters first: `{plan}` says whether that is safe"
        yield unsafe(f"voter {voter}", told)


def _of_brokers(leaving: _Leaving, stuck: frozenset[PartitionKey]) -> Iterator[Reason]:
    """The reasons about the replicas of each leaving broker. stuck: the partitions that can't
    move."""
    offsets = leaving.cluster.offsets("brokers")
    for broker in sorted(leaving.brokers):
        held = {key: one for key, one in leaving.held.items() if broker in one.replicas}
        if not held:
            continue
        of_all = f"{len(held)} of {len(leaving.cluster.partitions)} partitions"
        topics = counted(len({topic for topic, _ in held}), "topic")
        leads = sum(one.leader == broker for one in held.values())
        who = _who_takes(leaving.takers, len(held), len(held.keys() - stuck))
        yield unsafe(
            f"broker {broker}",
            f"has replicas of {of_all} ({topics}), and leads {leads} of them: move them first "
            f"(kafka-reassign-partitions.sh); {who}",
            offsets.get(broker),
        )


def _who_takes(takers: Collection[int], partitions: int, can_move: int) -> str:
    if not can_move:
        return "none of them can move as things are"
    what = "them all" if can_move == partitions else f"{can_move} of them"
    return f"{_named(takers)} can take {what}"


def _of_racks(leaving: _Leaving) -> Iterator[Reason]:
    """For each rack, the number of replicas that leave its brokers, and the brokers that stay in it
    and can take these replicas."""
    racks = leaving.racks
    moving = Counter(
        racks[one]
        for partition in leaving.held.values()
        for one in partition.replicas
        if one in leaving.brokers and one in racks
    )
    for rack, replicas in sorted(moving.items()):
        rest = [one for one in leaving.takers if racks.get(one) == rack]
        told = "1 replica leaves" if replicas == 1 else f"{replicas} replicas leave"
        told += f" {_named(one for one in leaving.brokers if racks.get(one) == rack)}; "
        if rest:
            told += f"of this rack, {_named(rest)} can take {'it' if replicas == 1 else 'them'}"
        else:
            told += "no other broker of this rack can take replicas"
        yield note(f"rack {rack}", told)


def _stuck(leaving: _Leaving) -> Iterator[tuple[PartitionKey, Reason]]:
    """The partitions that can't leave the brokers now, each with the first reason."""
    offsets = leaving.cluster.offsets("partitions")
    for key, partition in leaving.held.items():
        told = (
            _arriving(leaving, partition)
            or _no_source(leaving, partition)
            or _too_few(leaving, partition)
            or _one_rack(leaving, partition)
        )
        if told:
            reason = unsafe(leaving.cluster.name_of(key), told, offsets[key])
            yield key, reason._replace(is_of_partition=True)


def _arriving(leaving: _Leaving, partition: Partition) -> str:
    arriving = leaving.brokers.intersection(partition.adding_replicas)
    if not arriving:
        return ""
    return f"is being moved to {_named(arriving)} now: cancel that reassignment"


def _no_source(leaving: _Leaving, partition: Partition) -> str:
    """Why a new replica has no leader to copy from; "" if an eligible replica can lead."""
    eligible = (*partition.isr, *partition.elr)
    if any(leaving.cluster.can_lead(partition, one) for one in eligible):
        return ""
    if not eligible or not leaving.brokers.issuperset(eligible):
        return "has no leader now, so nothing can be copied"
    return (
        f"only {_named(eligible)} has its newest records and can't lead now: bring that broker and "
        "its log directory back before you move this partition"
    )


def _too_few(leaving: _Leaving, partition: Partition) -> str:
    left = len((set(partition.replicas) - leaving.brokers) | leaving.takers)
    lacking = len(partition.replicas) - left
    if lacking <= 0:
        return ""
    told = (
        f"needs {counted(len(partition.replicas), 'broker')}, and {left} would be left that can "
        "take replicas: add a broker, or start one that is down"
    )
    return f"{told}, or reassign it with {counted(lacking, 'replica')} less" if left else told


def _one_rack(leaving: _Leaving, partition: Partition) -> str:
    """Why a partition that is in several racks now would be in one rack after any move; "" if it
    wouldn't."""
    before = {leaving.racks.get(one) for one in partition.replicas}
    staying = set(partition.replicas) - leaving.brokers
    after = {leaving.racks.get(one) for one in staying | leaving.takers}
    if len(before) < 2 or len(after) > 1 or None in before | after:
        return ""
    return f"all of its replicas would be in rack {after.pop()}"


def _named(brokers: Iterable[int]) -> str:
    return named("broker", [str(one) for one in sorted(set(brokers))])
