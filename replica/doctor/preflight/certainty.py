"""Judges whether the judged state is the state of the cluster, on which every answer depends.

No change is called safe if the state isn't known to the log's end, lacks a record, isn't held by a
majority, or if logs conflict. Facts that the directories can neither prove nor disprove are
conditions (Preflight.needs).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.copy_first import copies_first, copy_step, what_is_discarded
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
from replica.doctor.preflight.majority import leader_in_doubt
from replica.doctor.quorum.conditions import NoLeader, unproven_changes, unseen_voters
from replica.doctor.quorum.histories import histories_text
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.known_voter import UNCOUNTED, VoterDoubt
from replica.words import up_to

_AGAIN = "; then ask again with new copies"
_MORE = "`kraftlake check` says more"
CHOOSE_FIRST = (
    "start no node and change nothing: `kraftlake recover --plan` with the same directories says "
    "how to find the history that is right, and no change can be planned before"
)
"""What to do before any change where there are two histories."""


def grounded(found: Preflight, cluster: Cluster) -> Preflight:
    """The result of a judgement, with the doubts about the judged state. If the cluster has no
    leader, or may have none, a change that needs one gets no order of steps. If there are two
    histories, the result has no other reason than this, because the judged state is only one of
    them."""
    if _conflicts(cluster):
        judged = preflight(found.action, [*_of_histories(cluster)])
        return replace(judged, first=(CHOOSE_FIRST,), asks_quorum=found.asks_quorum)
    named = {reason.subject for reason in found.reasons}
    no_leader = cluster.no_leader or _perhaps_none(found, cluster)
    reasons = [*_without_leader(found, no_leader), *_doubts(cluster), *found.reasons]
    reasons += (
        note(f"voter {node}", why)
        for node, why in _voters_in_doubt(cluster)
        if named.isdisjoint((f"node {node}", f"voter {node}"))
    )
    reasons += _to_copy(cluster, " ".join(reason.detail for reason in reasons))
    judged = preflight(found.action, reasons, (*found.needs, *_conditions(cluster)))
    first, order = found.first, found.order
    if no_leader is not None and found.asks_quorum:
        again = "" if found.is_refused else _AGAIN
        first, order = (f"{no_leader.first}{again}", *first), ()
    return replace(judged, first=first, order=order, asks_quorum=found.asks_quorum)


def _perhaps_none(found: Preflight, cluster: Cluster) -> NoLeader | None:
    """The doubt whether the quorum has a leader; None if there is no doubt, if the change needs no
    leader, or if the change is unsafe in any case."""
    may_go = found.answer in (ChangeSafety.SAFE, ChangeSafety.UNKNOWN)
    return leader_in_doubt(cluster) if may_go and found.asks_quorum else None


def _without_leader(found: Preflight, no_leader: NoLeader | None) -> Iterator[Reason]:
    """The reason that nobody leads the quorum: a change that needs a leader can't be carried out,
    and a broker that stops doesn't come back before there is one."""
    if no_leader is None:
        return
    if not found.asks_quorum or found.answer is ChangeSafety.NOTHING_TO_DO:
        yield note(QUORUM, f"{no_leader.why}: {_MORE}")
        return
    told = (
        f"{no_leader.why}: {'it' if no_leader.is_sure else 'without one it'} accepts no change, "
        "gives no partition another leader, and lets no broker that stopped come back"
    )
    yield unsafe(QUORUM, told) if no_leader.is_sure else unknown(QUORUM, told)


def _to_copy(cluster: Cluster, told: str) -> Iterator[Reason]:
    """A note about each broker that must not be started before a copy of its log directories. told:
    what other reasons say."""
    for one in copies_first(cluster):
        step = copy_step([one])
        if step not in told:
            discarded = what_is_discarded([one])
            yield note(f"broker {one.broker}", f"{discarded} {step.removesuffix('.')}".strip())


def _doubts(cluster: Cluster) -> Iterator[Reason]:
    if not cluster.is_whole:
        yield unknown("state", f"is known {up_to(cluster.end_offset)} only: {_MORE}")
    if cluster.cut_copy:
        told = f"is known {up_to(cluster.end_offset)} only: {cluster.cut_copy} breaks off"
        yield unknown("state", f"{told}. Copy it again")
    if cluster.refused_at is not None:
        told = f"lacks the record at offset {cluster.refused_at}, which can't be applied: {_MORE}"
        yield unknown("state", told)
    start = cluster.uncommitted_from
    if start is not None:
        yield unknown(
            "state",
            f"offsets {start} to {cluster.end_offset - 1} are on {cluster.holders_of(start)}: they "
            "were not committed when the directories were copied. Copy them again once the quorum "
            "has a leader",
            start,
        )


def _of_histories(cluster: Cluster) -> Iterator[Reason]:
    quorum = cluster.quorum
    if quorum is None:
        return
    if quorum.conflicts:
        told = f"{histories_text(quorum.conflicts)}, and a person has to choose one"
        offset = min(one.offset for one in quorum.conflicts)
        yield unknown("state", f"{told}. Start no node. {_MORE}", offset)
    for each in quorum.contested[:1]:
        told = f"offsets {each.start} to {each.end - 1} hold different records, all committed"
        yield unknown("state", f"{told}: start no node. {_MORE}", each.start)


def _voters_in_doubt(cluster: Cluster) -> Iterator[tuple[int, str]]:
    """The voters that must not be counted for a majority, each with the reason."""
    for node in sorted(cluster.voters & cluster.unstartable.keys()):
        yield node, f"refuses to start: {cluster.unstartable[node]}"
    for voter in () if cluster.quorum is None else cluster.quorum.in_doubt(*UNCOUNTED):
        yield voter.key.node_id, voter.why_doubted


def _conditions(cluster: Cluster) -> Iterator[str]:
    if cluster.quorum is not None:
        yield from _unseen(cluster, cluster.quorum)
    start = cluster.unproven_from
    if start is not None and start != cluster.uncommitted_from:
        proven_end = start if cluster.quorum is None else cluster.quorum.proven_end
        yield (
            f"{unproven_changes(start, proven_end)} have to be committed, which the logs at hand "
            "don't prove: add those of more voters"
        )
    if cluster.passed_over:
        yield f"{cluster.passed_over} change none of Kafka's own state, as --pass-over says"


def _unseen(cluster: Cluster, quorum: KnownQuorum) -> Iterator[str]:
    """The conditions about voters whose logs were not given, or not up to their ends."""
    for voter in quorum.in_doubt(VoterDoubt.CUT):
        if voter.cut_copy != cluster.cut_copy:
            node = voter.key.node_id
            yield f"node {node} has to hold nothing newer: {voter.why_doubted}. Copy it again"
    yield from unseen_voters(quorum)


def _conflicts(cluster: Cluster) -> bool:
    return cluster.quorum is not None and cluster.quorum.is_conflicting
