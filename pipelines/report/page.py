"""The report: the clusters of a lake, each with its verdict and evidence, as one HTML page.

The page loads nothing from elsewhere: it has its styles and drawings, and a content security policy
forbids everything else. So a name in a log could not run as a script even if it were not escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from pipelines.html_text import content_hash, joined, packaged, templates, ticks
from pipelines.lake import Lake
from pipelines.report import meaning, queries, view
from pipelines.report.evidence import gather
from pipelines.report.source import Figure, ReportSource, Row, moment
from pipelines.report.travel.cluster_history import gather_history
from pipelines.report.travel.queries import MAX_CHANGES
from pipelines.report.view import ClusterView, cluster_view
from pipelines.report.words import bytes_text, duration_text
from replica.doctor.quorum.log_ends import Behind
from replica.errors import UsageError
from replica.words import counted, listed, ms_range_text, ms_text, time_text

if TYPE_CHECKING:
    from pipelines.html_text import Templates

MAX_CLUSTERS = 10
"""The most clusters on one page; `--cluster` chooses one where there are more."""
_TEMPLATES = "templates"
"""The folder of the templates in this package."""
_SCRIPTS = ("report.js", "travel_data.js", "travel_panels.js", "travel.js")


@dataclass(frozen=True)
class Report:
    """The content of a page."""

    lake: Lake
    version: str
    generated_at: datetime
    clusters: tuple[ClusterView, ...]
    """The clusters on the page."""
    more: int
    """The number of other clusters in the lake."""
    unidentified: Figure
    of_directories: tuple[str, ...] = ()
    """The directories of which the lake was made only for this page; empty for a lake that the user
    keeps."""


def make_report(
    source: ReportSource,
    *,
    cluster: str | None,
    version: str,
    generated_at: datetime,
    of_directories: tuple[str, ...] = (),
) -> Report:
    """The report on the clusters of a lake. Raises UsageError where there is no such cluster, or
    where tables that `ingest` and `build` make are missing.

    cluster: the id of the only cluster to report on; None for all clusters.
    version: the version of kraftlake, for the page's footer.
    generated_at: the time that the page shows as its own, in UTC.
    of_directories: as in Report.
    """
    _check_tables(source)
    summaries = _chosen(source.ask(queries.CLUSTERS), cluster)
    shown = summaries[:MAX_CLUSTERS]
    share = MAX_CHANGES // len(shown)
    views = []
    for number, summary in enumerate(shown, start=1):
        evidence = gather(source, summary)
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


def _behind(row: Row) -> str:
    """How far a replica is behind, in the words of `check`; empty where it is unknown."""
    records, ms = row["lag_records"], row["lag_ms"]
    return "" if records is None else Behind(records, ms).text


def render(report: Report) -> str:
    """The page. Every codec can encode it as UTF-8."""
    style = packaged(__package__, _TEMPLATES, "report.css")
    script = joined(packaged(__package__, _TEMPLATES, name) for name in _SCRIPTS)
    policy = (
        f"default-src 'none'; style-src {content_hash(style)}; script-src {content_hash(script)}"
    )
    page = _environment().get_template("report.html")
    return page.render(report=report, policy=policy, style=style, script=script)


@cache
def _environment() -> Templates:
    return templates(
        __package__,
        _TEMPLATES,
        filters={
            "bytes": bytes_text,
            "time": time_text,
            "ms": ms_text,
            "ms_range": lambda times: ms_range_text(*times),
            "moment": moment,
            "ticks": ticks,
            "duration": duration_text,
        },
        names={
            "behind": _behind,
            "counted": counted,
            "listed": listed,
            "parting_title": view.parting_title,
            "limits": queries,
            "limits_of": meaning.limits,
        },
    )
