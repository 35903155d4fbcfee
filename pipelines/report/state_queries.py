"""The SQL about what is wrong now, and what would be after one more failure."""

from __future__ import annotations

from pipelines.dialects import DATA_FUSION, Sql
from pipelines.report.queries import ms

MAX_EXPOSURES = 20


def health(cluster: str) -> Sql:
    """The rules of health that found something in the newest known state, the worst first."""
    return f"""\
SELECT rule, severity, message, subjects, file, capture_id
FROM gold.findings
WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND family = 'health'
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, rule"""


VERDICTS = "gold.verdicts"


def verdict(cluster: str) -> Sql:
    """The verdict of `check` on the newest captures."""
    return f"""\
SELECT facts, not_judged
FROM {VERDICTS}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)}"""


EXPOSURE = "gold.failure_exposure"


def exposure(cluster: str) -> Sql:
    """The failures that would harm the newest known state, the worst first."""
    return f"""\
SELECT kind, gone, leaderless, needs_unclean, below_min_isr, voters_left, has_majority,
       since_offset, {ms("since")} AS since_ms, min_isr_unknown, count(*) OVER () AS total
FROM {EXPOSURE}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)}
  AND (leaderless > 0 OR below_min_isr > 0 OR NOT coalesce(has_majority, true))
ORDER BY CASE kind WHEN 'nothing' THEN 0 ELSE 1 END, coalesce(has_majority, true),
         leaderless DESC, below_min_isr DESC, kind, gone
LIMIT {MAX_EXPOSURES}"""
