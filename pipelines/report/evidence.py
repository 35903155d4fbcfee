"""The rows that the page of one cluster is made from: each query is asked once."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.dialects import DATA_FUSION, Sql
from pipelines.report import change_queries, queries
from pipelines.report.divergences import Parting, Replica, partings_of, replica_of
from pipelines.report.losses import MAX_LOSSES_TOLD, LostRecordCount, losses
from pipelines.report.meaning import effect
from pipelines.report.queries import ms
from pipelines.report.source import Figure, ReportSource, Row
from pipelines.report.words import round_seconds

MAX_EXPOSURES = 20


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


MAX_BUCKETS = 60
MAX_PARTINGS_DECODED = 6
"""The most divergences whose branches are decoded. Other divergences are only in the table."""
MAX_TRUNCATIONS_DECODED = 3
_QUERIES = (
    queries.rounds, queries.replicas, queries.never_started, queries.captures, queries.unbuilt,
    queries.epochs,
    queries.leaders, queries.relations, queries.partings, queries.truncations,
    queries.truncated_types, queries.snapshot_counts, queries.snapshots, queries.findings,
    health, queries.damage,
)  # fmt: skip
"""The queries about every cluster. Their answers are the fields of Evidence by the same names."""


@dataclass(frozen=True)
class Activity:
    """The number of changes in each bucket of time."""

    figure: Figure
    start: int
    """The time at which bucket 0 begins, in seconds since 1970."""
    width: int
    """The width of a bucket in seconds."""
    typed: bool
    """Whether the changes are rows of gold.metadata_changes; otherwise they are records, counted by
    their types."""


@dataclass(frozen=True)
class DecodedBranches:
    """The branches of one divergence."""

    parting: Parting
    heads: Figure
    """The batches at the divergence, with the replicas that held them."""
    records: Figure
    """The records of these replicas."""
    speakers: tuple[Replica, ...]
    """The replica of each branch whose records are shown."""


@dataclass(frozen=True)
class Lost:
    """A loss with its effect."""

    loss: LostRecordCount
    written: Figure
    """The times of the lost records."""
    types: Figure
    """The types of the lost records."""
    changes: Figure | None
    """The changes that the records would have made, by type; None where the lake has no typed
    changes."""


@dataclass(frozen=True)
class Evidence:
    """The tables' answers about one cluster. newest_changes, state_ranges, exposure, verdict,
    voter_sets: None where the lake lacks the table."""

    cluster_id: str
    summary: Row
    rounds: Figure
    replicas: Figure
    never_started: Figure
    captures: Figure
    unbuilt: Figure
    epochs: Figure
    leaders: Figure
    relations: Figure
    partings: Figure
    truncations: Figure
    truncated_types: Figure
    snapshot_counts: Figure
    snapshots: Figure
    findings: Figure
    health: Figure
    damage: Figure
    activity: Activity
    decoded: tuple[DecodedBranches, ...] = ()
    truncated: dict[int, Figure] = field(default_factory=dict)
    """The decoded records of some truncations, by the truncation's place in the list."""
    losses: tuple[LostRecordCount, ...] = ()
    """All losses; `lost` has the losses whose effect is known."""
    lost: tuple[Lost, ...] = ()
    newest_changes: Figure | None = None
    state_ranges: Figure | None = None
    exposure: Figure | None = None
    verdict: Figure | None = None
    voter_sets: Figure | None = None

    @property
    def known_ranges(self) -> tuple[Row, ...]:
        """The rows of state_ranges; none where the lake lacks the table."""
        return () if self.state_ranges is None else self.state_ranges.rows

    def voters(self, before: int | None = None) -> frozenset[int]:
        """The node ids of the voters in the newest voters record. In a static quorum, which has no
        such record: the voters of the newest epoch whose voters are known. before: an offset; only
        records and epochs that begin below it count, or all where it is None."""
        named = () if self.voter_sets is None else self.voter_sets.rows
        for row in reversed(named):
            if before is None or row["valid_from_offset"] < before:
                return frozenset(one["voterId"] for one in json.loads(row["value"])["voters"])
        for row in reversed(self.leaders.rows):
            start = row["start_offset"]
            is_before = before is None or (start is not None and start < before)
            if row["voters"] and is_before:
                return frozenset(voter["voter_id"] for voter in row["voters"])
        return frozenset()


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
        verdict=source.figure_if_there(VERDICTS, verdict(cluster)),
        voter_sets=source.figure_if_there(
            change_queries.HISTORY, change_queries.voter_sets(cluster)
        ),
    )


def _activity(source: ReportSource, cluster: str, *, typed: bool) -> Activity:
    span = source.ask(change_queries.activity_span(cluster, typed=typed))[0]
    start, width = bucketing(span["first"], span["last"])
    figure = source.figure(change_queries.activity(cluster, start, width, typed=typed))
    return Activity(figure, start, width, typed)


def bucketing(first: float | None, last: float | None) -> tuple[int, int]:
    """(start of bucket 0, width of a bucket), both in seconds, of at most MAX_BUCKETS + 1 buckets
    from first to last."""
    if first is None or last is None:
        return 0, 1
    width = round_seconds((last - first) / MAX_BUCKETS)
    return math.floor(first / width) * width, width


def _lost(source: ReportSource, cluster: str, loss: LostRecordCount, ranges: Figure | None) -> Lost:
    written = source.figure(change_queries.written(cluster, loss))
    types = source.figure(change_queries.record_types(cluster, loss))
    changes = source.figure_if_there(change_queries.CHANGES, change_queries.changes(cluster, loss))
    of_changes = None if changes is None else changes.rows
    of_ranges = () if ranges is None else ranges.rows
    known = effect(loss.first, loss.records, written.rows, types.rows, of_changes, of_ranges)
    kept = bool(loss.committed and source.ask(change_queries.keepers(cluster, loss)))
    return Lost(replace(loss, effect=known, kept=kept), written, types, changes)


def _decoded(source: ReportSource, cluster: str, rows: Iterable[Row]) -> Iterable[DecodedBranches]:
    for parting in partings_of(rows)[:MAX_PARTINGS_DECODED]:
        heads = source.figure(queries.heads(cluster, parting.capture_group, parting.offset))
        parting = parting.with_heads(heads.rows)
        speakers = tuple(branch.replicas[0] for branch in parting.branches)
        sql = queries.branch_records(cluster, parting.capture_group, parting.offset, speakers)
        yield DecodedBranches(parting, heads, source.figure(sql), speakers)


def _truncated(source: ReportSource, cluster: str, rows: Iterable[Row]) -> dict[int, Figure]:
    """The records of the first truncations. Replicas that lost the same records share one entry."""
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
