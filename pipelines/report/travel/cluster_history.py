"""One cluster's history, and the health of the cluster and its exposure to failures at moments of
that history."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.report.source import Figure
from pipelines.report.travel.moments import ReportMoment
from pipelines.report.travel.steps import ReportSteps
from replica.doctor.check.rule import Finding
from replica.doctor.health.exposure import Exposure
from replica.doctor.health.refusals import Refusal

MAX_EXPOSURES = 6
"""The most failures of one moment, the worst first."""


@dataclass(frozen=True)
class MomentJudgement:
    """The judgement of a moment."""

    moment: ReportMoment
    findings: tuple[Finding, ...]
    """The findings of the rules of health, the worst first."""
    exposures: tuple[Exposure, ...]
    """The failures that would harm most, the worst first: at most MAX_EXPOSURES."""
    harmful: int
    """The number of all harmful failures."""


@dataclass(frozen=True)
class ClusterHistory:
    """The history of one cluster that the page shows."""

    changes: Figure
    """Rows of queries.changes."""
    versions: Figure
    """Rows of queries.versions."""
    steps: ReportSteps
    """The steps of `changes` and `versions`."""
    all_changes: int
    """The number of the cluster's changes in the tables."""
    all_versions: int
    """The number of the cluster's versions in the tables."""
    is_sampled: bool
    """Whether changes or versions of the tables are left out."""
    judgements: tuple[MomentJudgement, ...]
    """The health at some of the steps, in the order of offsets."""
    judged_by: str | None
    """The SQL that gives one of the judged states; None where no state was judged."""
    refusals: tuple[Refusal, ...] = ()
    """The times during which partitions refused writes; none where the history is sampled."""
