"""Facts about records that logs hold now and will lose: logs of the metadata, and those of
partitions on brokers that are down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from replica.doctor.check.catalogue import groups, health
from replica.doctor.health.copy_first import copy_step, what_is_discarded
from replica.doctor.quorum.reasons import IF_STOPPED
from replica.doctor.verdict.evidence import ClusterEvidence, ToLose
from replica.doctor.verdict.verdict import Fact, Level
from replica.severity import Severity
from replica.words import counted, listed, named, shortened

LOSS_RULES = (groups.LOG_DIVERGENCE.id,)
"""The rules whose findings are left out of the verdict where it has facts of loss_facts."""
_SHOWN = 3
_KEEP = "No action needed; keep a copy."
_COPY_AGAIN = (
    "If a node ran while the directories were copied, copy all of them again; else keep a copy, "
    "and nothing else is needed."
)


def loss_facts(losses: Iterable[ToLose]) -> Iterator[Fact]:
    """A fact for each loss."""
    for one in losses:
        yield _fact(one)


def with_copies(outages: Sequence[Fact], evidence: ClusterEvidence) -> Iterator[Fact]:
    """The outages, and after them a fact about brokers whose start discards records that no other
    broker may hold. The fact and an outage that the start of these brokers ends have one next step:
    copy the directories, start the brokers, compare the records. The replicas that begin again
    only while an emptied broker runs are left out: another fact says to stop it."""
    kept = {name for one in evidence.emptied for name in one.partitions}
    copies = [
        one._replace(shortened=(), begun_again=tuple(set(one.begun_again) - kept))
        for one in evidence.copy_first
    ]
    copies = [one for one in copies if one.only_copies]
    if not copies:
        yield from outages
        return
    told = {name for one in copies for name in one.only_copies}
    unclean = {
        subject.name
        for one in evidence.health or ()
        if one.rule is health.UNCLEAN_LEADER
        for subject in one.subjects
    }
    names = listed([shortened(name) for name in sorted(told)], limit=_SHOWN)
    copy = copy_step(evidence.copy_first)
    brokers = named("broker", [str(one.broker) for one in evidence.copy_first], limit=_SHOWN)
    steps = [fact.next_step for fact in outages if fact.next_step.startswith(copy)]
    start = next(iter(steps), f"{copy} Then start {brokers}.")
    compare = f"After the start compare {names} with what their producers sent."
    step = f"{start} {compare}"
    yield from (
        replace(one, next_step=step, once_led=f"{one.once_led} {compare}" * bool(one.once_led))
        if one.next_step == start
        else one
        for one in outages
    )
    yield Fact(
        Level.AT_RISK,
        health.UNCLEAN_LEADER.severity,
        what_is_discarded(copies),
        step,
        (health.UNCLEAN_LEADER.id,) if unclean and unclean <= told else (),
    )


def _fact(loss: ToLose) -> Fact:
    who = named("node", loss.nodes, limit=5)
    rules = (groups.LOG_DIVERGENCE.id,)
    diverges = "diverges" if len(loss.nodes) == 1 else "diverge"
    if loss.records is None or loss.lost is None:
        return Fact(
            Level.ATTENTION,
            groups.LOG_DIVERGENCE.severity,
            f"The log of {who} {diverges} from others at offset {loss.first}, and neither side "
            "would win an election.",
            groups.LOG_DIVERGENCE.next_step,
            rules,
        )
    records = counted(loss.records, "record")
    where = f"{who} will discard {records} (from offset {loss.first} on)"
    if loss.if_led_by:
        where = f"if node {listed(loss.if_led_by, last='or')} leads, {where}"
    where = f"{where[0].upper()}{where[1:]}"
    lost = loss.lost
    if lost.committed:
        return Fact(
            Level.AT_RISK,
            Severity.ERROR,
            f"{where}, of which {lost.committed} were committed: brokers may have acted on them.",
            groups.COMMITTED_DATA_AT_RISK.next_step,
            (*rules, groups.COMMITTED_DATA_AT_RISK.id),
        )
    if lost.unproven:
        return Fact(
            Level.ATTENTION,
            Severity.WARNING,
            f"{where}. The logs alone don't show whether {lost.unproven} of them were committed.",
            "Keep a copy before these nodes are started again.",
            rules,
        )
    meaning = f" ({loss.meaning})" if loss.meaning else ""
    were = "was" if loss.records == 1 else "were"
    never = f"{where} that {were} never committed{meaning}"
    if loss.if_stopped:
        what = f"{never}, {IF_STOPPED}."
        return Fact(Level.ATTENTION, Severity.WARNING, what, _COPY_AGAIN, rules)
    return Fact(Level.ATTENTION, Severity.WARNING, f"{never}. {_KEEP}", rules=rules)
