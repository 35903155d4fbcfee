"""Makes the report of a lake: asks it for the evidence on each cluster, each query once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from pipelines.dialects import DATA_FUSION, Sql
from pipelines.gold.verdict_rows import verdict_in
from pipelines.report import change_queries, queries
from pipelines.report.divergences import partings_of, replica_of
from pipelines.report.evidence import (
    MAX_EXPOSURES,
    MAX_PARTINGS_DECODED,
    MAX_TRUNCATIONS_DECODED,
    Activity,
    DecodedBranches,
    Evidence,
    Lost,
    bucketing,
)
from pipelines.report.losses import MAX_LOSSES_TOLD, LostRecordCount, losses
from pipelines.report.meaning import effect
from pipelines.report.page import MAX_CLUSTERS, Report
from pipelines.report.queries import ms
from pipelines.report.source import Figure, ReportSource, Row
from pipelines.report.travel.gathering import gather_history
from pipelines.report.travel.queries import MAX_CHANGES
from pipelines.report.view import cluster_view
from replica.doctor.verdict.verdict import Verdict
from replica.errors import UsageError
from replica.words import listed

NO_VERDICTS: Mapping[str, Verdict] = MappingProxyType({})


def make_report(
    source: ReportSource,
    *,
    cluster: str | None,
    version: str,
    generated_at: datetime,
    of_directories: tuple[str, ...] = (),
    verdicts: Mapping[str, Verdict] = NO_VERDICTS,
) -> Report:
    """The report on the clusters of a lake. Raises UsageError where there is no such cluster, or
    where tables that `ingest` and `build` make are missing.

    cluster: the id of the only cluster to report on; None for all clusters.
    version: the version of kraftlake, for the page's footer.
    generated_at: the time that the page shows as its own, in UTC.
    of_directories: as in Report.
    verdicts: by cluster id, verdicts that take the place of those in the lake.
    """
    _check_tables(source)
    summaries = _chosen(source.ask(queries.CLUSTERS), cluster)
    chosen = summaries[:MAX_CLUSTERS]
    share = MAX_CHANGES // len(chosen)
    views = []
    for number, row in enumerate(chosen, start=1):
        evidence = gather(source, row)
        judged = verdicts.get(evidence.cluster_id, evidence.judged)
        evidence = replace(evidence, judged=judged)
        views.append(cluster_view(evidence, number, gather_history(source, evidence, share)))
    return Report(
        source.lake,
        version,
        generated_at,
        tuple(views),
        len(summaries) - len(views),
        source.figure(queries.UNIDENTIFIED),
        of_directories,
    )


def _check_tables(source: ReportSource) -> None:
    missing = [name for name in queries.REQUIRED if name not in source.tables]
    if missing:
        step = "ingest" if missing[0].startswith("bronze.") else "build"
        raise UsageError(
            f"--lake {source.lake}: no {missing[0]} in it; run `{source.lake.command(step)}` first"
        )


def _chosen(found: Sequence[Row], cluster: str | None) -> Sequence[Row]:
    if not found:
        raise UsageError("the lake has no captures; run `kraftlake ingest` first")
    chosen = [row for row in found if cluster in (None, row["cluster_id"])]
    if not chosen:
        names = [str(row["cluster_id"]) for row in found]
        raise UsageError(f"--cluster {cluster}: the lake has {listed(names, limit=10)}")
    return chosen


def health(cluster: str) -> Sql:
    """The rules of health with a finding in the newest known state, the worst first."""
    return f"""\
SELECT rule, severity, message, subjects, file, capture_id
FROM gold.findings
WHERE cluster_id = {DATA_FUSION.cluster(cluster)} AND family = 'health'
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, rule"""


VERDICTS = "gold.verdicts"


def verdict(cluster: str) -> Sql:
    """The verdict of `check` on the newest captures."""
    return f"""\
SELECT cluster_id, level, headline, facts, next_steps, not_judged, notes, end_offset, at, source
FROM {VERDICTS}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)}"""


EXPOSURE = "gold.failure_exposure"


def exposure(cluster: str) -> Sql:
    """The failures after which the newest known state has harm: first no failure at all, then
    single ones, then pairs; in each of these kinds the worst first."""
    return f"""\
SELECT kind, gone, leaderless, needs_unclean, below_min_isr, voters_left, has_majority,
       since_offset, {ms("since")} AS since_ms, min_isr_unknown, count(*) OVER () AS total
FROM {EXPOSURE}
WHERE cluster_id = {DATA_FUSION.cluster(cluster)}
  AND (leaderless > 0 OR below_min_isr > 0 OR NOT coalesce(has_majority, true))
ORDER BY CASE kind WHEN 'nothing' THEN 0 WHEN 'pair' THEN 2 ELSE 1 END,
         coalesce(has_majority, true), leaderless DESC, below_min_isr DESC, kind, gone
LIMIT {MAX_EXPOSURES}"""


_QUERIES = (
    queries.rounds, queries.replicas, queries.never_started, queries.captures, queries.unbuilt,
    queries.epochs,
    queries.leaders, queries.relations, queries.partings, queries.truncations,
    queries.truncated_types, queries.snapshot_counts, queries.snapshots, queries.findings,
    health, queries.damage,
)  # fmt: skip
"""The queries about every cluster. Their answers are the fields of Evidence by the same names."""


def gather(source: ReportSource, summary: Row) -> Evidence:
    """Asks all queries about the cluster of `summary`, a row of queries.CLUSTERS. Raises
    KraftlakeError."""
    cluster = str(summary["cluster_id"])
    plain: dict[str, Any] = {one.__name__: source.figure(one(cluster)) for one in _QUERIES}
    typed = change_queries.CHANGES in source.tables
    newest = {replica_of(row): str(row["capture_group"]) for row in plain["replicas"].rows}
    found = losses(plain["truncations"].rows, partings_of(plain["partings"].rows), newest)
    ranges = source.figure_if_there(queries.STATE_RANGES, queries.state_ranges(cluster))
    lost = tuple(_lost(source, cluster, loss, ranges) for loss in found[:MAX_LOSSES_TOLD])
    verdicts = source.figure_if_there(VERDICTS, verdict(cluster))
    return Evidence(
        cluster,
        summary,
        **plain,
        activity=_activity(source, cluster, typed=typed),
        decoded=tuple(_decoded(source, cluster, plain["partings"].rows)),
        truncated=_truncated(source, cluster, plain["truncations"].rows),
        losses=(*(one.loss for one in lost), *found[len(lost) :]),
        lost=lost,
        newest_changes=source.figure_if_there(
            change_queries.CHANGES, change_queries.newest_changes(cluster)
        ),
        state_ranges=ranges,
        exposure=source.figure_if_there(EXPOSURE, exposure(cluster)),
        voter_sets=source.figure_if_there(
            change_queries.HISTORY, change_queries.voter_sets(cluster)
        ),
        judged=next(map(verdict_in, () if verdicts is None else verdicts.rows), None),
    )


def _activity(source: ReportSource, cluster: str, *, typed: bool) -> Activity:
    span = source.ask(change_queries.activity_span(cluster, typed=typed))[0]
    start, width = bucketing(span["first"], span["last"])
    figure = source.figure(change_queries.activity(cluster, start, width, typed=typed))
    return Activity(figure, start, width, typed)


def _lost(source: ReportSource, cluster: str, loss: LostRecordCount, ranges: Figure | None) -> Lost:
    written = source.figure(change_queries.written(cluster, loss))
    types = source.figure(change_queries.record_types(cluster, loss))
    changes = source.figure_if_there(change_queries.CHANGES, change_queries.changes(cluster, loss))
    of_changes = None if changes is None else changes.rows
    of_ranges = () if ranges is None else ranges.rows
    known = effect(loss.first, loss.records, written.rows, types.rows, of_changes, of_ranges)
    kept = bool(loss.committed and source.ask(change_queries.keepers(cluster, loss)))
    return Lost(replace(loss, effect=known, is_kept=kept), written, types, changes)


def _decoded(source: ReportSource, cluster: str, rows: Iterable[Row]) -> Iterable[DecodedBranches]:
    for parting in partings_of(rows)[:MAX_PARTINGS_DECODED]:
        heads = source.figure(queries.heads(cluster, parting.capture_group, parting.offset))
        parting = parting.with_heads(heads.rows)
        speakers = tuple(branch.replicas[0] for branch in parting.branches)
        sql = queries.branch_records(cluster, parting.capture_group, parting.offset, speakers)
        yield DecodedBranches(parting, heads, source.figure(sql), speakers)


def _truncated(source: ReportSource, cluster: str, rows: Iterable[Row]) -> dict[int, Figure]:
    """The records of the first truncations, by the index of the truncation's row. Replicas that
    lost the same records share one entry."""
    found: dict[int, Figure] = {}
    seen: set[tuple[Any, ...]] = set()
    for place, row in enumerate(rows):
        run = (row["from_offset"], row["to_offset"], tuple(row["epochs"]))
        if run in seen or len(found) == MAX_TRUNCATIONS_DECODED:
            continue
        seen.add(run)
        sql = queries.truncated_records(cluster, replica_of(row), *run[:2])
        found[place] = source.figure(sql)
    return found
