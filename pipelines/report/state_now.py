"""What is wrong now, by the newest captures and the newest known state, as `check` judges it."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.gold.verdict_rows import facts_in, gaps_in
from pipelines.report.evidence import Evidence
from pipelines.report.source import Row
from replica.doctor.verdict.runbooks import runbook_of
from replica.doctor.verdict.verdict import Fact, Gap


def facts_now(evidence: Evidence) -> tuple[Fact, ...]:
    """The facts of check's verdict on the newest captures, the worst first."""
    return tuple(fact for row in _verdict_rows(evidence) for fact in facts_in(row))


def gaps_now(evidence: Evidence) -> tuple[Gap, ...]:
    """What could not be judged: the gaps of check's verdict on the newest captures."""
    return tuple(gap for row in _verdict_rows(evidence) for gap in gaps_in(row))


def runbook_now(evidence: Evidence) -> str | None:
    """The name of the runbook about the facts; None where there is none."""
    return runbook_of({rule for fact in facts_now(evidence) for rule in fact.rules})


def _verdict_rows(evidence: Evidence) -> Sequence[Row]:
    return () if evidence.verdict is None else evidence.verdict.rows
