"""Finds an order in which all nodes can be restarted, one at a time, so that no partition loses its
leader or its guarantees and the quorum keeps its majority; or names the nodes that prevent it.

A restart is the stop of one node, which `stopping` judges. The first step is judged on the current
state; each later step on the state in which every node is back and every replica in sync, because
the operator waits for this state between two steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from replica.doctor.health.absent import MAY_RUN, absent_brokers
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.copy_first import copies_first, copy_step
from replica.doctor.health.emptied import emptied_brokers
from replica.doctor.health.placement import racks_of
from replica.doctor.preflight.answer import (
    QUORUM,
    ChangeSafety,
    Preflight,
    Reason,
    gravest,
    note,
    preflight,
    unknown,
    unsafe,
)
from replica.doctor.preflight.first_steps import (
    before_roll,
    before_unregistering,
    waiting_for_directory,
)
from replica.doctor.preflight.majority import caught_up_needs, seem_stopped
from replica.doctor.preflight.stopping import PARTITIONS, awaited_replicas, stop_brokers
from replica.doctor.quorum.known_voter import UNCOUNTED
from replica.metadata.image.image import Image
from replica.metadata.image.partition import Partition
from replica.metadata.image.state import EntityTable
from replica.model.voters import majority
from replica.words import counted, listed, named

_SHOWN = 3


def roll(cluster: Cluster) -> Preflight:
    """The restart of all nodes, one after another: the brokers first, rack by rack, then the
    voters, and last the voter with the newest log, which leads the quorum or led it.
    Preflight.order has all nodes, or none: each node that prevents an order has a reason."""
    nodes = sorted({*cluster.values("brokers"), *cluster.values("controllers"), *cluster.voters})
    in_sync = _in_sync(cluster)
    up = [node for node in nodes if node not in cluster.fenced_brokers]
    stoppable = frozenset(node for node in up if _may_stop(cluster, node))
    not_ready = [*_down(cluster), *_doubted(cluster)]
    blocked = {node: reason for node in up for reason in _blocking(in_sync, node)}
    stay = cluster.fenced_brokers | cluster.unreliable_voters | cluster.stopped_together
    without = sorted(stay | blocked.keys())
    order = () if without else _order(cluster, nodes, stoppable)
    reasons = [
        *_start(cluster, order, stoppable),
        *not_ready,
        *blocked.values(),
        *_no_order(without),
    ]
    needs = (*_needs(cluster), *caught_up_needs(cluster, up))
    found = preflight("restart all nodes, one at a time", reasons, needs)
    if found.answer is ChangeSafety.SAFE:
        return replace(found, order=order)
    first = before_roll(cluster, [frozenset((node,)) for node in nodes])
    return replace(found, order=order, first=(*first,))


def _in_sync(cluster: Cluster) -> Cluster:
    """The cluster with a leader of the quorum, all brokers up and all replicas in sync, except
    replicas in an offline log directory."""
    brokers = {
        broker: {**fields, "fenced": False, "inControlledShutdown": False}
        for broker, fields in cluster.values("brokers").items()
    }
    partitions = {
        key: _caught_up(cluster, partition) for key, partition in cluster.partitions.items()
    }
    changed: dict[str, dict[Any, Any]] = {"brokers": brokers, "partitions": partitions}
    tables: dict[str, EntityTable[Any, Any]] = {
        name: EntityTable(changed.get(name, table.values), table.offsets)
        for name, table in cluster.image.tables.items()
    }
    quorum = None if cluster.quorum is None else replace(cluster.quorum, is_leaderless=False)
    return replace(cluster, image=Image(tables), quorum=quorum, by_verdict=None)


def _caught_up(cluster: Cluster, partition: Partition) -> Partition:
    isr = tuple(
        broker
        for broker in partition.replicas
        if cluster.offline_directory(partition, broker) is None
    )
    return partition._replace(isr=isr, elr=(), last_known_elr=())


def _blocking(in_sync: Cluster, node: int) -> Iterator[Reason]:
    """The gravest reason why the node can't be stopped although all replicas are in sync. Reasons
    that _doubted gives for the node are left out."""
    found = stop_brokers(in_sync, [node])
    against = [
        one
        for one in found.reasons
        if one.answer is not ChangeSafety.SAFE and one.subject != f"voter {node}"
    ]
    if not against:
        return
    first = against[0]
    even = ", even with all replicas in sync" if _is_about_replicas(first) else ""
    of_all = {PARTITIONS: first.detail, QUORUM: f"the quorum {first.detail}"}
    said = of_all.get(first.subject, f"{first.subject}: {first.detail}")
    answer = gravest(one.answer for one in against)
    cannot = "can't be stopped" if answer is ChangeSafety.UNSAFE else "may not be safe to stop"
    told = f"{cannot}{even} ({said})"
    if len(against) > 1:
        told += f"; --stop-broker {node} names each"
    yield Reason(answer, f"node {node}", told, first.offset)


def _is_about_replicas(reason: Reason) -> bool:
    """Whether the reason is about partitions, not about votes."""
    return reason.is_of_partition or reason.subject == PARTITIONS


def _order(cluster: Cluster, nodes: Sequence[int], stoppable: frozenset[int]) -> tuple[int, ...]:
    """The nodes, all of which are up, in the order of their restarts. stoppable: the nodes that may
    be stopped now."""
    racks: Mapping[int, str] = racks_of(cluster)
    newest = None if cluster.quorum is None else cluster.quorum.newest
    last = None if newest is None else newest.node_id

    def place(node: int) -> tuple[bool, bool, bool, str, int]:
        is_voter = node in cluster.voters
        return node == last, is_voter, node not in stoppable, racks.get(node, ""), node

    return tuple(sorted(nodes, key=place))


def _may_stop(cluster: Cluster, node: int) -> bool:
    return stop_brokers(cluster, [node]).answer is not ChangeSafety.UNSAFE


def _start(cluster: Cluster, order: Sequence[int], stoppable: frozenset[int]) -> Iterator[Reason]:
    """Why the restarts should not begin now. stoppable: the nodes that may be stopped now."""
    if not order or order[0] in stoppable:
        return
    behind = sum(set(one.isr) != set(one.replicas) for one in cluster.partitions.values())
    yield unsafe(
        "start",
        f"no node may be stopped now: {counted(behind, 'partition')} with replicas that are not in "
        "sync. Wait for them (--while), or find out why they lag",
    )


def _down(cluster: Cluster) -> Iterator[Reason]:
    """Reasons about the brokers that are down. While a broker is down that holds replicas or is a
    voter, no other node may be stopped. A broker without replicas and without a vote prevents no
    other stop, but no order of all nodes can have it while it is down."""
    copies, waits = copies_first(cluster), waiting_for_directory(cluster)
    absent = absent_brokers(cluster)
    emptied = {one.broker for one in emptied_brokers(cluster)}
    needed = cluster.voters.union(*(one.replicas for one in cluster.partitions.values()))
    for node in sorted(cluster.fenced_brokers):
        first = f"{step} Then start" if (step := copy_step(copies, [node])) else "Start"
        it = "it with its log directory that is offline" if node in waits else "it"
        told = "is down: its broker is fenced, or shutting down"
        if absent.get(node) in MAY_RUN:
            told = "was fenced without a shutdown: it crashed, hangs or is cut off"
        if node in cluster.down_unfenced:
            told = "is down, by its log and the verdict"
        offset = cluster.offsets("brokers")[node]
        gone = _if_gone(cluster, node, is_needed=node in needed)
        if node in emptied:
            told += ", and stays so on its new disk: `kraftlake check` says why. Stop no other node"
            yield unsafe(f"node {node}", f"{told} before. {gone}", offset)
        elif node in needed:
            told += f". {first} {it}, wait until it is in sync, and ask again; stop no other node"
            yield unsafe(f"node {node}", f"{told} before. {gone}", offset)
        else:
            told += f", and it holds no replica. {first} it, and ask again. {gone}"
            yield unknown(f"node {node}", told, offset)


def _if_gone(cluster: Cluster, node: int, *, is_needed: bool) -> str:
    """What may become of the registration of a broker that doesn't come back. is_needed: whether it
    holds replicas or a vote."""
    waiting = [
        cluster.name_of(key)
        for key, partition in sorted(cluster.partitions.items())
        if node in awaited_replicas(cluster, partition)
    ]
    if waiting:
        return (
            f"Don't unregister it: {counted(len(waiting), 'partition')} without a leader "
            f"({listed(waiting, limit=_SHOWN)}) can get one from it"
        )
    if not is_needed:
        return "A broker that is gone for good: unregister it"
    return f"A broker that is gone for good: {before_unregistering(node)}"


def _doubted(cluster: Cluster) -> Iterator[Reason]:
    """Reasons about the nodes that may have to stay stopped, or that have stopped, by their
    directories."""
    doubted = () if cluster.quorum is None else cluster.quorum.in_doubt(*UNCOUNTED)
    why = {voter.key.node_id: voter.why_doubted for voter in doubted}
    for node in sorted(cluster.unreliable_voters):
        reason = why.get(node, "its directory can't be relied on")
        told = f"{reason}: first do what `kraftlake check` says about it, then ask again"
        yield unknown(f"node {node}", told)
    stopped = cluster.stopped_together - cluster.unreliable_voters
    if stopped:
        them = "it" if len(stopped) == 1 else "them"
        told = f"{seem_stopped(stopped)}: start {them}, and ask again with new copies"
        yield unknown(named("node", [str(node) for node in sorted(stopped)]), told)


def _no_order(without: Sequence[int]) -> Iterator[Reason]:
    if without:
        names = named("node", [str(node) for node in without])
        yield note("order", f"there is no order while {names} can't be in it")


def _needs(cluster: Cluster) -> tuple[str, ...]:
    waiting = (
        "before each step --stop-broker N has to say safe (--while 10 waits for that), so that the "
        "node before it is back and in sync"
    )
    if len(cluster.voters) < 2:
        return (waiting,)
    needed = majority(len(cluster.voters))
    return waiting, f"while a voter restarts, {needed} of the others have to run and be caught up"
