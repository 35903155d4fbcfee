"""The health of a cluster, and its exposure to failures, at one moment of its history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.gold.rules.health import cluster_of
from pipelines.report.evidence import Evidence
from pipelines.report.source import ReportSource
from pipelines.report.travel import queries
from pipelines.report.travel.moments import ReportMoment
from pipelines.report.travel.steps import ReportSteps
from replica.check.rule import Finding
from replica.health.exposure import NOTHING, Exposure, exposures
from replica.health.judging import judge_health
from replica.health.past import does_harm

MAX_EXPOSURES = 6
"""The most failures of one moment, the worst first."""


@dataclass(frozen=True)
class MomentJudgement:
    """findings: of the rules of health, the worst first. exposures: the worst failures; `harmful`
    is the number of all harmful failures."""

    moment: ReportMoment
    findings: tuple[Finding, ...]
    exposures: tuple[Exposure, ...]
    harmful: int


def judged_at(
    source: ReportSource, evidence: Evidence, steps: ReportSteps, moment: ReportMoment
) -> MomentJudgement:
    """The judgement of replica.health on the state at the moment. Raises KraftlakeError.

    It doesn't ask since when a reassignment runs, so no reassignment counts as one that takes too
    long.
    """
    rows = source.ask(queries.state_at(evidence.cluster_id, moment.end_offset))
    look = {
        "cluster_id": evidence.cluster_id,
        "source": "",
        "end_offset": moment.end_offset,
        "is_whole": True,
        "voters": evidence.voters(moment.end_offset),
        "now_ms": steps.times[moment.step],
    }
    entities = [(row["entity"], row["value"], row["record_offset"]) for row in rows]
    cluster = cluster_of(look, entities)
    harmful = sorted(_harmful(exposures(cluster)), key=_worst_first)
    return MomentJudgement(
        moment, tuple(judge_health(cluster)), tuple(harmful[:MAX_EXPOSURES]), len(harmful)
    )


def _harmful(found: Iterable[Exposure]) -> Iterator[Exposure]:
    """The present problems, and the failures that would add to them. found: of one state, the entry
    without a failure first."""
    now = None
    for one in found:
        now = one if now is None else now
        if does_harm(one) and (one is now or one.harm != now.harm or one.has_majority is False):
            yield one


def _worst_first(one: Exposure) -> tuple[bool, bool, int, int, int, tuple[str, ...]]:
    return (
        one.kind != NOTHING,
        one.has_majority is not False,
        -one.harm.leaderless,
        -one.harm.below_min_isr,
        len(one.gone),
        one.gone,
    )
