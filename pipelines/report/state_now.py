"""What is wrong with the cluster itself by its newest known state, as `check` decides it."""

from __future__ import annotations

from pipelines.finding_rows import finding_of
from pipelines.report.evidence import Evidence
from pipelines.report.travel.steps import ABSENT, ReportSteps
from pipelines.report.travel.trip import Trip
from replica.check.catalogue import RULES_BY_ID
from replica.model.keys import NO_NODE
from replica.verdict.evidence import ClusterEvidence, Since
from replica.verdict.facts import verdict_on
from replica.verdict.verdict import Fact


def facts_now(evidence: Evidence, trip: Trip | None) -> tuple[Fact, ...]:
    """The facts about the cluster's newest known state, the worst first. trip: None where the lake
    doesn't tell its history."""
    found = tuple(finding_of(row) for row in evidence.health.rows if row["rule"] in RULES_BY_ID)
    since = None if trip is None or trip.is_sampled else leaderless_since(trip.steps)
    return verdict_on(
        ClusterEvidence(
            evidence.cluster_id, health=found, partitions=evidence.partitions, leaderless=since
        )
    ).facts


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
