"""Changes of answers that agree. Each change makes a contradiction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from pipelines.report.losses import LostRecordCount, When
from pipelines.report.verdict import ReportVerdict
from replica.doctor.check.catalogue import groups
from replica.doctor.check.snapshot_validity import Validity
from replica.doctor.health.exposure import NOW, Harm
from replica.doctor.preflight.answer import Preflight
from replica.doctor.quorum.known_voter import KnownVoter, VoterDoubt
from replica.doctor.timeline.branch import BranchTail
from replica.doctor.verdict.evidence import ClusterEvidence
from replica.doctor.verdict.evidence_of_directories import evidence_of
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Level, Verdict
from replica.history.commitment import EntryCommitment, Losses, VerdictRange
from replica.history.log import OffsetRange
from replica.metadata.image.image import Image
from replica.metadata.image.state import EntityTable
from replica.model.keys import ReplicaKey
from tests.contradictions.answers import Answers, InLake

RECORDED, SIMULATED, PARTED = "kafka-4.1.1-dynamic/final", "seed-5", "ghost-writes"
BACK = "seed-2-back"
"""Names of a recorded cluster in a lake, a seed, a scenario whose logs diverge, and a seed whose
disk went back."""
FAR = 10**6
ALL = (OffsetRange(0, FAR),)
STRANGER = ReplicaKey(99, "A" * 22)
WORSE = groups.TWO_LEADERS.at("", "made")
Change = Callable[[Answers], Answers]


def between(*rules: Any) -> Change:
    """A change: findings of these rules between the directories."""
    found = tuple(rule.at("", "made") for rule in rules)
    return lambda a: replace(a, judged=replace(a.judged, findings=found))


def planned_with(**changes: Any) -> Change:
    """A change: other values in the quorum of recover's plan."""
    return lambda a: of_plan(quorum=replace(a.plan.quorum, **changes))(a)


OTHER_VOTERS = planned_with(voter_sets=(frozenset({STRANGER}),))


def in_doubt(key: ReplicaKey) -> KnownVoter:
    return KnownVoter(key, VoterDoubt.UNREADABLE)


def of_plan(**changes: Any) -> Change:
    return lambda a: replace(a, plan=replace(a.plan, **changes))


def of_second(**changes: Any) -> Change:
    def change(a: Answers) -> Answers:
        first, second, *others = a.plan.ranking
        ranking = (first, replace(second, **changes), *others)
        return replace(a, plan=replace(a.plan, ranking=ranking))

    return change


def of_health(**changes: Any) -> Change:
    return lambda a: replace(a, checked=replace(a.checked, **changes))


def of_quorum(**changes: Any) -> Change:
    def change(a: Answers) -> Answers:
        cluster = a.checked.cluster
        quorum = replace(cluster.quorum, **changes)
        return replace(a, checked=replace(a.checked, cluster=replace(cluster, quorum=quorum)))

    return change


def of_truth(**changes: Any) -> Change:
    return lambda a: replace(a, given=replace(a.given, truth=replace(a.given.truth, **changes)))


def of_table(name: str, **changes: Any) -> Change:
    """A change: all rows of a table with other values."""

    def change(a: Answers) -> Answers:
        rows = [{**row, **changes} for row in a.in_lake.tables[name]]
        return replace(a, in_lake=replace(a.in_lake, tables={**a.in_lake.tables, name: rows}))

    return change


def of_member(**changes: Any) -> Change:
    def change(a: Answers) -> Answers:
        first, *others = a.judged.members
        members = (replace(first, **changes), *others)
        return replace(a, judged=replace(a.judged, members=members))

    return change


def of_outcomes(**changes: Any) -> Change:
    """A change: all runs of `rehearse` with other outcomes."""

    def change(a: Answers) -> Answers:
        runs = a.rehearsed.rehearsal
        found = tuple(
            replace(one, outcome=replace(one.outcome, **changes)) for one in runs.outcomes
        )
        return replace(a, rehearsed=replace(a.rehearsed, rehearsal=replace(runs, outcomes=found)))

    return change


def with_lost_fates(a: Answers) -> Answers:
    fates = a.rehearsed.rehearsal.outcomes[0].outcome.fates
    return of_outcomes(fates=tuple(replace(one, lost=ALL) for one in fates))(a)


def with_unknown_fates(a: Answers) -> Answers:
    fates = a.rehearsed.rehearsal.outcomes[0].outcome.fates
    return of_outcomes(fates=tuple(replace(one, losses=Losses(0, 1, 0)) for one in fates))(a)


def with_exposures(**changes: Any) -> Change:
    """A change: every failure does more harm."""
    return lambda a: replace(
        a,
        exposed=tuple(one if one.failure == NOW else one._replace(**changes) for one in a.exposed),
    )


def with_outage(a: Answers) -> Answers:
    now, *others = a.exposed
    exposed = (now._replace(harm=Harm(leaderless=1)), *others)
    return replace(a, exposed=exposed, checked=replace(a.checked, health=()))


def with_stops(answer: Preflight) -> Change:
    return lambda a: replace(a, stops=dict.fromkeys(a.stops, answer))


def with_fenced_voters(a: Answers) -> Answers:
    """A change: all voters are brokers, too, and one of them is fenced."""
    cluster = a.checked.cluster
    values = {one: {"fenced": one == min(cluster.voters)} for one in cluster.voters}
    brokers = EntityTable(values, dict.fromkeys(values, 0))
    image = Image({**cluster.image.tables, "brokers": brokers})
    stops = {(one,): Preflight("stop", ()) for one in cluster.voters}
    return replace(
        a, checked=replace(a.checked, cluster=replace(cluster, image=image)), stops=stops
    )


def with_loss(a: Answers) -> Answers:
    view = a.in_lake.report
    loss = LostRecordCount((), When.GONE, 0, 1, committed=1, unproven=0, superseded=0)
    evidence = replace(view.evidence, losses=(loss,))
    return replace(a, in_lake=replace(a.in_lake, report=replace(view, evidence=evidence)))


def with_an_empty_report(a: Answers) -> Answers:
    """A change: the report knows nothing, and check finds two leaders."""
    report = replace(a.in_lake.report, verdict=ReportVerdict(()))
    return between(groups.TWO_LEADERS)(replace(a, in_lake=replace(a.in_lake, report=report)))


def with_refused_writes(a: Answers) -> Answers:
    """A change: the report tells of writes that were refused."""
    view = a.in_lake.report
    summary = replace(view.summary, refused="made")
    return replace(a, in_lake=replace(a.in_lake, report=replace(view, summary=summary)))


def with_worse_verdicts_on_less(a: Answers) -> Answers:
    """A change: a verdict is an outage although it has fewer findings than before."""
    all_findings = evidence_of(a.checked).findings

    def decide(evidence: ClusterEvidence) -> Verdict:
        is_less = len(evidence.findings) < len(all_findings)
        return replace(verdict_on(evidence), level=Level.OUTAGE if is_less else Level.ATTENTION)

    return replace(a, verdict_on=decide)


def with_all_superseded(a: Answers) -> Answers:
    verdict = (VerdictRange(0, FAR, EntryCommitment.SUPERSEDED),)
    verdicts = dict.fromkeys(a.commitment.verdicts, verdict)
    return replace(a, commitment=replace(a.commitment, verdicts=verdicts))


def with_unknown_losses_in_plan(a: Answers) -> Answers:
    """A change: recover knows of no record that it was never committed."""
    keys = a.plan.commitment.verdicts
    unknown = (VerdictRange(0, FAR, EntryCommitment.UNPROVEN),)
    return of_plan(commitment=replace(a.plan.commitment, verdicts=dict.fromkeys(keys, unknown)))(a)


def with_invalid_snapshots(a: Answers) -> Answers:
    members = tuple(
        replace(
            one,
            verdicts=tuple(replace(each, validity=Validity.INVALID) for each in one.verdicts),
        )
        for one in a.judged.members
    )
    return replace(a, judged=replace(a.judged, members=members))


def with_elections(a: Answers) -> Answers:
    won = replace(a.elections[0].won, leader=99)
    return replace(a, elections=(replace(a.elections[0], won=won), *a.elections[1:]))


def with_causes(cause: str) -> Change:
    return lambda a: replace(a, events=tuple(one._replace(cause=cause) for one in a.events))


def with_rows(table: str, row: dict[str, Any]) -> Change:
    """A change: the table of the lake has only this row."""
    return lambda a: replace(a, in_lake=InLake({table: [row]}, None))


def with_tail(a: Answers) -> Answers:
    """A change: the committed log occurs as a tail, too."""
    (examined, *_) = a.branch.members
    log = a.branch.log
    tail = BranchTail(examined, log.first_offset, log.end_offset, (examined,), log)
    return replace(a, branch=replace(a.branch, tails=(tail,)))


def with_truncations(a: Answers) -> Answers:
    rows = {"gold.truncations": [{"committed_lost": 1}]}
    report = SimpleNamespace(evidence=SimpleNamespace(losses=()))
    return replace(a, in_lake=InLake(rows, report))


def both(one: Change, other: Change) -> Change:
    return lambda a: other(one(a))
