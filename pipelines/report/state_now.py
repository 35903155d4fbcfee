"""What is wrong now, by the newest captures and the newest known state, as `check` decides it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipelines.finding_rows import finding_of
from pipelines.gold.verdict_rows import facts_in, gaps_in
from pipelines.report.evidence import Evidence
from pipelines.report.source import Row
from pipelines.report.travel.steps import ABSENT, ReportSteps
from pipelines.report.travel.trip import Trip
from pipelines.report.verdict import TOLD_BY_LOSSES
from replica.doctor.check.catalogue import HEALTH_RULES, RULES_BY_ID
from replica.doctor.verdict.evidence import ClusterEvidence, Since
from replica.doctor.verdict.facts import verdict_on
from replica.doctor.verdict.verdict import Fact, Gap
from replica.model.keys import NO_NODE

_OF_HEALTH = frozenset(rule.id for rule in HEALTH_RULES)


def facts_now(evidence: Evidence, trip: Trip | None) -> tuple[Fact, ...]:
    """The facts, the worst first; without those about logs that part, of which the report tells in
    clauses. trip: None where the lake doesn't tell its history."""
    found = tuple(finding_of(row) for row in evidence.health.rows if row["rule"] in RULES_BY_ID)
    since = None if trip is None or trip.is_sampled else leaderless_since(trip.steps)
    of_health = verdict_on(
        ClusterEvidence(
            evidence.cluster_id, health=found, partitions=evidence.partitions, leaderless=since
        )
    ).facts
    return tuple(sorted([*of_health, *_of_files(evidence)], key=lambda one: one.level.rank))


def gaps_now(evidence: Evidence) -> tuple[Gap, ...]:
    """What nobody can judge."""
    return tuple(gap for row in _verdict_rows(evidence) for gap in gaps_in(row))


def _of_files(evidence: Evidence) -> Iterator[Fact]:
    """The facts about directories. Those about the state are of `facts_now`, which knows better
    since when they hold."""
    for row in _verdict_rows(evidence):
        for fact in facts_in(row):
            if not set(fact.rules) & _OF_HEALTH and not set(fact.rules) & TOLD_BY_LOSSES:
                yield fact


def _verdict_rows(evidence: Evidence) -> Sequence[Row]:
    return () if evidence.verdict is None else evidence.verdict.rows


def leaderless_since(steps: ReportSteps) -> Since | None:
    """Since when the partitions that have no leader at the last step have none."""
    began: dict[int, int] = {}
    for move in steps.partitions.moves:
        had, has = (
            state != ABSENT and steps.partitions.states[state][0] == NO_NODE
            for state in (move.before, move.after)
        )
        if has and not had:
            began[move.entity] = move.step
        elif not has:
            began.pop(move.entity, None)
    times = [steps.times[step] for step in began.values()]
    known = [time for time in times if time is not None]
    if not known:
        return None
    return Since(min(known), max(known), is_exact=len(known) == len(times))
