"""Judges whether brokers can be stopped: which partitions lose their leader or their guarantees
until the brokers are back.

A broker in a controlled shutdown first leaves the ISRs. If it is the only replica in an ISR, it
stays in the ISR, and the partition has no leader until the broker is back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from replica.doctor.health.absent import Absence, absent_brokers
from replica.doctor.health.cluster import Cluster, PartitionKey, and_more, listed
from replica.doctor.health.emptied import emptied_partitions
from replica.doctor.health.live_replicas import Alike, eligible_to_lead
from replica.doctor.health.placement import racks_of
from replica.doctor.preflight.answer import (
    QUORUM,
    ChangeSafety,
    Preflight,
    Reason,
    note,
    preflight,
    unknown,
    unsafe,
)
from replica.doctor.preflight.first_steps import before_stop
from replica.doctor.preflight.majority import caught_up_needs, majority_needs, majority_reason
from replica.doctor.quorum.known_voter import MAY_HAVE_LOST
from replica.metadata.image.partition import Partition
from replica.model.keys import NO_NODE
from replica.words import counted, named

PARTITIONS = "partitions"
"""The subject of a reason that counts partitions."""
_LOSES_LEADER = "would lose their leader"


def stop_brokers(cluster: Cluster, brokers: Collection[int], action: str = "") -> Preflight:
    """The stop of the brokers with these ids. If one of them is also a voter, the voter stops
    too."""
    gone = frozenset(brokers)
    offsets, emptied = cluster.offsets("partitions"), emptied_partitions(cluster)
    of_quorum = [*_majority(cluster, gone)]
    takes_majority = any(one.answer is ChangeSafety.UNSAFE for one in of_quorum)
    of_partitions = [
        harm._replace(reason=harm.reason._replace(offset=offsets.get(key), is_of_partition=True))
        for key, partition in sorted(cluster.partitions.items())
        if not gone.isdisjoint(partition.replicas)
        for harm in _of_partition(
            cluster,
            key,
            partition,
            gone,
            takes_majority=takes_majority,
            emptied=emptied.get(key, NO_NODE),
        )
    ]
    reasons = [
        *not_registered(cluster, gone),
        *_never_back(cluster, gone),
        *_forgetful(cluster, gone),
        *_down_already(cluster, gone),
        *of_quorum,
        *_counted(cluster, of_partitions, gone),
        *(harm.reason for harm in of_partitions),
    ]
    action = action or f"stop {named('node', [str(one) for one in sorted(gone)])}"
    relied = {
        other
        for partition in cluster.partitions.values()
        if not gone.isdisjoint(partition.replicas)
        for other in cluster.live_brokers.intersection(partition.replicas)
    }
    needs: tuple[str, ...] = ()
    if not cluster.voters.isdisjoint(gone):
        needs = majority_needs(cluster, cluster.voters, gone)
    found = preflight(action, reasons, (*needs, *caught_up_needs(cluster, relied - gone)))
    return (
        found
        if found.answer is ChangeSafety.SAFE
        else replace(found, first=(*before_stop(cluster, gone),))
    )


class _Harm(NamedTuple):
    """The harm of the stop for a partition. what: the words that follow a number of partitions."""

    what: str
    reason: Reason


def _counted(cluster: Cluster, harms: Sequence[_Harm], gone: frozenset[int]) -> Iterator[Reason]:
    """If the stop harms more than one partition: a reason for each answer, with the number of
    partitions for each harm. Only partitions with a replica on these brokers are counted. The
    reason says so where other partitions may be in the same state without the stop."""
    partitions, on = cluster.partitions, ""
    if {harm.what for harm in harms} != {_LOSES_LEADER} and any(
        gone.isdisjoint(one.replicas) for one in partitions.values()
    ):
        nodes = named("node", [str(one) for one in sorted(gone)])
        on = f", counting those with a replica on {nodes}"
    answers = {harm.reason.answer for harm in harms}
    if len(harms) < 2 or answers == {ChangeSafety.SAFE}:
        return
    for answer in ChangeSafety:
        if answer in answers:
            counts = Counter(harm.what for harm in harms if harm.reason.answer is answer)
            of_all = f"of {counted(len(partitions), 'partition')}"
            told = []
            for what, count in counts.most_common():
                told.append(f"{count} {of_all} {what}")
                of_all = f"of {len(partitions)}"
            yield Reason(answer, PARTITIONS, "; ".join(told) + on)


def stop_rack(cluster: Cluster, rack: str) -> Preflight:
    """The stop of all registered brokers of the rack."""
    brokers = [broker for broker, its_rack in racks_of(cluster).items() if its_rack == rack]
    action = f"stop rack {rack}, brokers {listed(sorted(brokers))}"
    if not brokers:
        racks = and_more(sorted(set(racks_of(cluster).values()))) or "none"
        told = f"no registered broker is in it; the brokers' racks are: {racks}"
        return preflight(action, [unsafe(f"rack {rack}", told)])
    return stop_brokers(cluster, brokers, action)


def not_registered(cluster: Cluster, gone: Collection[int]) -> Iterator[Reason]:
    """A reason for each id that is neither a broker nor a voter, with the registered brokers."""
    brokers = sorted(cluster.values("brokers"))
    known = and_more([str(one) for one in brokers]) or "none"
    for broker in sorted(set(gone) - {*brokers, *cluster.voters}):
        told = f"no broker with this id is registered; registered are: {known}"
        yield unsafe(f"broker {broker}", told)


def _never_back(cluster: Cluster, gone: frozenset[int]) -> Iterator[Reason]:
    """Reasons about nodes that would refuse to start again with their directories."""
    for node in sorted(gone & cluster.unstartable.keys()):
        told = f"refuses to start again with its directories ({cluster.unstartable[node]})"
        yield unsafe(f"node {node}", f"{told}: do first what `kraftlake check` says of it")


def _forgetful(cluster: Cluster, gone: frozenset[int]) -> Iterator[Reason]:
    """Reasons about voters whose disks may lack their votes or records: a running voter may know
    them, a stopped voter has only what is on its disk."""
    doubted = () if cluster.quorum is None else cluster.quorum.in_doubt(*MAY_HAVE_LOST)
    for voter in doubted:
        if voter.key.node_id in gone:
            told = (
                "leave it stopped then, until `kraftlake recover --plan` has told how it comes back"
            )
            yield unknown(f"voter {voter.key.node_id}", f"{voter.why_doubted}: {told}")


def _down_already(cluster: Cluster, gone: frozenset[int]) -> Iterator[Reason]:
    """Notes about the brokers that are down already. If partitions wait for a broker, the reason is
    UNSAFE: while it stays stopped, they get no leader."""
    offsets, absent = cluster.offsets("brokers"), absent_brokers(cluster)
    for broker in sorted(gone & cluster.fenced_brokers):
        how = absent.get(broker, Absence.FENCED)
        state = "shutting down already"
        if how is not Absence.STOPPING:
            why = "by the verdict" if broker in cluster.down_unfenced else how.value
            state = f"down already ({why})"
        waiting = sum(
            broker in awaited_replicas(cluster, partition)
            for partition in cluster.partitions.values()
        )
        told = f"is {state}, and leads no partition"
        if broker not in cluster.voters and not waiting:
            told += ", so its stop changes nothing"
        reason = note(f"broker {broker}", told, offsets[broker])
        if waiting:
            told += f"; {counted(waiting, 'partition')} without a leader can get one from it"
            reason = unsafe(f"broker {broker}", told, offsets[broker])
        yield reason


def awaited_replicas(cluster: Cluster, partition: Partition) -> tuple[int, ...]:
    """The brokers that may lead a partition when they are back, if no live broker may; else
    empty."""
    is_led = any(cluster.can_lead(partition, one) for one in (*partition.isr, *partition.elr))
    return () if is_led else eligible_to_lead(partition)


def _majority(cluster: Cluster, gone: frozenset[int]) -> Iterator[Reason]:
    stopped = cluster.voters & gone
    if stopped:
        is_only = len(cluster.voters) == 1
        subject = QUORUM if is_only else f"voters {listed(sorted(stopped))}"
        yield majority_reason(cluster, subject, cluster.voters, gone)


def _of_partition(
    cluster: Cluster,
    key: PartitionKey,
    partition: Partition,
    gone: frozenset[int],
    *,
    takes_majority: bool,
    emptied: int,
) -> Iterator[_Harm]:
    name = cluster.name_of(key)
    min_isr, online = cluster.min_isr(key, partition), cluster.online_directories
    is_led = cluster.is_led and not takes_majority
    alike = Alike.of(partition, min_isr, online, is_led=is_led, emptied=emptied)
    now = alike.kind(cluster.live_brokers)
    left = now.without(gone)
    if not cluster.is_led:
        if now.may_be_led and not left.may_be_led:
            told = "would have no leader: the quorum has none that could choose another one"
            yield _Harm(_LOSES_LEADER, unsafe(name, told))
    elif not now.may_be_led:
        awaited, up = awaited_replicas(cluster, partition), now.in_sync | now.eligible
        is_awaited = not gone.isdisjoint(awaited) or (bool(up) and up <= gone)
        reason = unsafe if is_awaited else note
        told = "has no replica that may lead now, before anything is stopped"
        if up or emptied != NO_NODE:
            told = "has no leader now, before anything is stopped"
        told += _awaits(cluster, awaited) if is_awaited and not up else ""
        if up:
            told += f"; the next broker that comes up makes one of {listed(sorted(up))} its leader"
        yield _Harm("would stay without a leader, as now", reason(name, told))
    elif not left.may_be_led:
        others = listed(sorted(left.unclean))
        more = f"; {others} would be an unclean election" if left.unclean else ""
        told = f"would have no leader: no in-sync replica is left of {listed(partition.isr)}{more}"
        if not is_led:
            told = "would have no leader: without a majority the quorum chooses no other one"
        yield _Harm(_LOSES_LEADER, unsafe(name, told))
    elif left.min_isr is None and left.in_sync != now.in_sync:
        told = (
            f"min.insync.replicas is not known, and {counted(len(left.in_sync), 'replica')} in "
            "sync would be left: --broker-config FILE gives the default"
        )
        yield _Harm("may fall below min.insync.replicas, which is not known", unknown(name, told))
    elif left.is_below_min_isr:
        was = ", as now" if now.is_below_min_isr else ""
        told = f"{len(left.in_sync)} in sync are left, min.insync.replicas is {left.min_isr}{was}"
        reason = note if was and left.in_sync == now.in_sync else unsafe
        yield _Harm("would have fewer in sync than min.insync.replicas", reason(name, told))


def _awaits(cluster: Cluster, awaited: Collection[int]) -> str:
    """A text about what a partition without a leader waits for: brokers that are down, or log
    directories of brokers that are up."""
    up = [broker for broker in sorted(awaited) if broker in cluster.live_brokers]
    down = [broker for broker in sorted(awaited) if broker not in cluster.live_brokers]
    which = "any of " if len(down) > 1 else ""
    told = f"; it waits for {which}{listed(down)} to come back" if down else ""
    if up:
        told += f"; it waits for a log directory of {listed(up)} that is offline"
    return told
