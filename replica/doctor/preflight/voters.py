"""Judges changes of the voter set (KIP-853), one voter at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from replica.doctor.health.cluster import Cluster, listed
from replica.doctor.health.features import highest_levels
from replica.doctor.preflight.answer import (
    ChangeSafety,
    Preflight,
    Reason,
    done,
    note,
    preflight,
    refused,
    unknown,
    unsafe,
)
from replica.doctor.preflight.majority import (
    NO_LOG,
    majority_needs,
    majority_reason,
    why_behind,
)
from replica.metadata.image.settings import METADATA_VERSION
from replica.model.control import KRAFT_VERSION
from replica.model.voters import majority
from replica.words import counted, number

UPGRADES_FROM_STATIC = 26
"""The metadata.version 4.1-IV0, which every node of Kafka 4.1 supports. Kafka 4.1 is the first
release that raises kraft.version from 0."""

_TAKES = f"they elect the leader that takes the request, and {NO_LOG}"
"""The end of the condition that the voters before the change have to run."""


def remove_voter(cluster: Cluster, voter: int) -> Preflight:
    """The removal of a voter. The leader of today's voters takes the request, and a majority of the
    new set has to commit it."""
    action = f"remove voter {voter}"
    reasons = [*_of_dynamic_quorum(cluster)]
    left = cluster.voters - {voter}
    if cluster.voters and voter not in cluster.voters:
        told = f"is none of the voters {listed(sorted(cluster.voters))}: Kafka refuses it"
        reasons.append(refused(f"voter {voter}", told))
    elif cluster.voters and not left:
        reasons.append(refused(f"voter {voter}", "is the last one: Kafka refuses it"))
    else:
        reasons += _tolerance(len(cluster.voters), len(left))
        reasons += [*_majority(cluster, cluster.voters)] or _majority(cluster, left)
    gone: tuple[str, ...] = ()
    if voter in cluster.voters_down | cluster.uncounted_voters and len(cluster.voters) > 1:
        gone = (f"voter {voter} has to be gone for good: with its own disk it votes again",)
    return _judged(cluster, action, reasons, left, *gone)


def add_voter(cluster: Cluster, voter: int) -> Preflight:
    """The addition of a voter. Its node first runs as an observer, until it has caught up with the
    leader."""
    reasons = [*_of_dynamic_quorum(cluster)]
    registration = cluster.values("controllers").get(voter)
    if voter in cluster.voters:
        reasons.insert(0, refused(f"node {voter}", "is a voter already: Kafka refuses it"))
    elif registration is None:
        told = "no controller of this id is registered: start it as an observer first"
        reasons.append(unknown(f"controller {voter}", told))
    elif highest_levels(registration).get(KRAFT_VERSION, 0) < 1:
        at = cluster.offsets("controllers")[voter]
        reasons.append(refused(f"controller {voter}", f"does not support {KRAFT_VERSION} 1", at))
    count = len(cluster.voters)
    if voter not in cluster.voters and count:
        reasons += _tolerance(count, count + 1)
    joined = cluster.voters | {voter}
    if voter not in cluster.voters:
        reasons += [*_majority(cluster, cluster.voters)] or _majority(cluster, joined)
    caught_up = f"controller {voter} has to have caught up with the leader"
    return _judged(cluster, f"add voter {voter}", reasons, joined, caught_up)


def to_dynamic(cluster: Cluster) -> Preflight:
    """The change of kraft.version from 0 to 1. Every voter must support it, and must have reported
    this to the leader."""
    action = f"raise {KRAFT_VERSION} to 1, from static to dynamic voters"
    if cluster.level(KRAFT_VERSION) > 0:
        at = cluster.offsets("kraft_version")[""]
        return preflight(action, [done(KRAFT_VERSION, "is 1 already", at)])
    if not cluster.voters:
        return preflight(action, [unknown("voters", "the state names none")])
    offsets = cluster.offsets("controllers")
    reasons: list[Reason] = []
    for voter in sorted(cluster.voters):
        registration = cluster.values("controllers").get(voter)
        if registration is None:
            reasons.append(unsafe(f"voter {voter}", "is not registered as a controller"))
        elif highest_levels(registration).get(KRAFT_VERSION, 0) < 1:
            told = f"does not support {KRAFT_VERSION} 1"
            reasons.append(refused(f"voter {voter}", told, offsets[voter]))
        elif highest_levels(registration).get(METADATA_VERSION, 0) < UPGRADES_FROM_STATIC:
            told = (
                "is older than Kafka 4.1, which is the first that can do it; a leader of 3.9 says "
                "that it has done it, and does nothing"
            )
            reasons.append(refused(f"voter {voter}", told, offsets[voter]))
        if voter in cluster.voters_down:
            told = "is down, as its broker is fenced: the leader has to hear from every voter"
            reasons.append(unknown(f"voter {voter}", told, cluster.offsets("brokers")[voter]))
    for voter in sorted((cluster.voters & cluster.late_nodes) - cluster.voters_down):
        told = f"{why_behind(cluster, [voter])}: the leader has to hear from every voter"
        reasons.append(unknown(f"voter {voter}", told))
    told = "every voter has to run: the leader refuses it until each voter has sent its endpoints"
    return preflight(action, reasons, (told,))


def _judged(
    cluster: Cluster, action: str, reasons: list[Reason], voters: frozenset[int], *needs: str
) -> Preflight:
    """The judgement of a change to these voters. A change that Kafka refuses needs nothing. needs:
    those of this change besides the majorities."""
    found = preflight(action, reasons)
    if found.is_refused:
        return found
    of_voters = (*_leader_needs(cluster, voters), *majority_needs(cluster, voters))
    return replace(found, needs=(*of_voters, *needs))


def _of_dynamic_quorum(cluster: Cluster) -> Iterator[Reason]:
    if cluster.level(KRAFT_VERSION) < 1:
        once = "" if cluster.no_leader is None else ", once the quorum has a leader"
        yield refused(
            KRAFT_VERSION,
            "is 0: the voters are static, and Kafka refuses it; only a restart of all nodes with "
            f"another controller.quorum.voters changes them{once}",
        )
    elif not cluster.voters:
        yield unknown("voters", "the state names none")


def _tolerance(before: int, after: int) -> Iterator[Reason]:
    was, will = before - majority(before), after - majority(after)
    told = (
        f"of {counted(after, 'voter')} {number(will)} may fail; "
        f"of the present {counted(before, 'voter')} {number(was)} may fail"
    )
    if will < was or after == 1:
        yield note("voters", f"{told}: add another one soon")
    elif after % 2 == 0:
        yield note(
            "voters",
            f"{told}: an even number of voters survives no more failures than one voter less",
        )


def _leader_needs(cluster: Cluster, voters: frozenset[int]) -> tuple[str, ...]:
    """The condition that today's voters have a leader, which takes the request. Empty where each
    majority of the new voters is one of today's, too, so that their own condition says it."""
    today = len(cluster.voters)
    joining = len(voters - cluster.voters)
    if majority(len(voters)) - joining >= majority(today):
        return ()
    return majority_needs(cluster, cluster.voters, why=_TAKES)


def _majority(cluster: Cluster, voters: frozenset[int]) -> Iterator[Reason]:
    """A reason if no majority of `voters`, a set that has to commit the change, is left."""
    reason = majority_reason(cluster, "voters", voters)
    if voters and reason.answer is not ChangeSafety.SAFE:
        yield reason
