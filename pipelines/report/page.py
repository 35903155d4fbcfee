"""The report: the clusters of a lake, each with its verdict and evidence, as one HTML page.

The page loads nothing from elsewhere: it has its styles and drawings, and a content security policy
forbids all else. So a name in a log could not run as a script even if it were not escaped.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files

import jinja2
from markupsafe import Markup

from pipelines.lake import Lake
from pipelines.report import meaning, queries, view
from pipelines.report.evidence import gather
from pipelines.report.source import Figure, ReportSource, Row, moment
from pipelines.report.svg import element
from pipelines.report.travel.queries import MAX_CHANGES
from pipelines.report.travel.trip import gather_trip
from pipelines.report.view import ClusterView, cluster_view
from pipelines.report.words import (
    bytes_text,
    counted,
    duration_text,
    listed,
    ms_range_text,
    ms_text,
    time_text,
    visible,
)
from replica.errors import UsageError

MAX_CLUSTERS = 10
"""The most clusters on one page; `--cluster` chooses one where there are more."""
_TEMPLATES = "templates"
"""The folder of the templates in this package, which may be in a zip."""
_SCRIPTS = ("report.js", "travel_data.js", "travel_panels.js", "travel.js")


@dataclass(frozen=True)
class Report:
    """The content of a page. clusters: those on the page. more: how many other clusters the lake
    has. of_directories: the directories of which the lake was made only for this page; empty for a
    lake that stays."""

    lake: Lake
    version: str
    generated_at: datetime
    clusters: tuple[ClusterView, ...]
    more: int
    unidentified: Figure
    of_directories: tuple[str, ...] = ()


def make_report(
    source: ReportSource,
    *,
    cluster: str | None,
    version: str,
    generated_at: datetime,
    of_directories: tuple[str, ...] = (),
) -> Report:
    """The report. cluster: only this one. of_directories: as in Report.

    Raises UsageError where there is no such cluster, or where tables that `ingest` and `build` make
    are missing.
    """
    _check_tables(source)
    summaries = _chosen(source.ask(queries.CLUSTERS), cluster)
    shown = summaries[:MAX_CLUSTERS]
    share = MAX_CHANGES // len(shown)
    views = []
    for number, summary in enumerate(shown, start=1):
        evidence = gather(source, summary)
        views.append(cluster_view(evidence, number, gather_trip(source, evidence, share)))
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


def render(report: Report) -> str:
    """The page as UTF-8 that every codec accepts."""
    style, script = _read("report.css"), "".join(map(_read, _SCRIPTS))
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"
    return (
        _environment()
        .get_template("report.html")
        .render(
            report=report,
            policy=policy,
            style=Markup(style),  # noqa: S704 - ours
            script=Markup(script),  # noqa: S704 - ours
        )
    )


def _hash(text: str) -> str:
    """The source expression of an inline element (Content Security Policy 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _read(name: str) -> str:
    return (files(__package__) / _TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__, _TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters.update(
        bytes=bytes_text,
        time=time_text,
        ms=ms_text,
        ms_range=lambda times: ms_range_text(*times),
        moment=moment,
        ticks=_ticks,
        duration=duration_text,
        labelled=labelled,
    )
    environment.globals.update(
        counted=counted,
        listed=listed,
        parting_title=view.parting_title,
        limits=queries,
        limits_of=meaning.limits,
    )
    return environment


def _ticks(text: str) -> Markup:
    """The text of a rule, with `code` for backticks."""
    parts = [
        element("code", one) if place % 2 else one for place, one in enumerate(text.split("`"))
    ]
    return Markup("").join(parts)


def _shown(value: object) -> object:
    """The output of a template's expression: nothing for NULL, codes for unusual characters."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return visible(value)
    return value


_HEAD = re.compile(r'<th scope="col"[^>]*>(.*?)</th>', re.DOTALL)
_CELL = re.compile(r"<tr\b|<(?:td|th)\b")


def labelled(table: Markup) -> Markup:
    """A template's table, whose cells in the body get the attribute data-label: the head of their
    column. A phone shows tables as cards, in which each cell has this name. All values of a lake
    are escaped in the table, so every tag is one of the template."""
    head, body, rest = str(table).partition("<tbody>")
    labels = [Markup(one).striptags() for one in _HEAD.findall(head)]  # noqa: S704 - the template's
    place = 0

    def with_label(found: re.Match[str]) -> str:
        nonlocal place
        if found[0] == "<tr":
            place = 0
            return found[0]
        label = labels[place] if place < len(labels) else ""
        place += 1
        return f'{found[0]} data-label="{label}"'

    return Markup(head + body + _CELL.sub(with_label, rest))  # noqa: S704 - as it came, with labels
