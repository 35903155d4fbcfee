"""`kraftlake report`: writes what a lake knows of an incident as one HTML file. From
directories it first makes a lake.

It reads the lake with delta-rs, as `kraftlake sql` does, so neither Java nor Spark is needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from jobs.cli.commands.happening import WhatHappenedOptions
from jobs.cli.commands.options import lake_unless, names_in
from jobs.cli.commands.sharing import ReportOptions
from jobs.cli.directories import what_happened
from jobs.cli.directories.several_verdicts import ClusterVerdict, one_verdict
from jobs.cli.directories.verdict_text import (
    VerdictForm,
    beside_worse,
    describe_verdict,
    gap_rows,
    labelled,
    level_line,
)
from jobs.cli.output import complain, is_standard_output, write_json, write_line, write_text
from jobs.cli.page_file import write_page
from pipelines.lake import Lake
from pipelines.lake.tables import tables_of
from pipelines.object_store import is_uri
from pipelines.sql_text import tables_named
from replica.errors import UnreadableFileError, UsageError
from replica.installation import line_that_adds, release

if TYPE_CHECKING:
    from pipelines.report.page import Report
    from pipelines.report.source import ReportSource
    from pipelines.report.view import ClusterView
    from replica.doctor.verdict.verdict import Verdict

_OF_A_LAKE = ("datafusion", "deltalake", "pyarrow", "pyspark")
"""The packages without which no lake is made for a page."""


def run(options: ReportOptions) -> int:
    """Writes the page, and prints each cluster's verdict, on stderr where the page goes to standard
    output. Returns 0. Raises KraftlakeError."""
    lake = lake_unless(options.paths, options.lake, "report")
    if lake is not None:
        return _write(_of_lake(lake, options, {}), options)
    if _can_make_a_lake():
        verdicts = _verdicts(options)
        if verdicts == {}:
            return _of_no_log(options)
        return _write(_of_lake(None, options, verdicts or {}), options)
    report = _of_directories(options)
    if report is None:
        return _of_no_log(options)
    complain(
        "report: this page is made without a lake; the slider over every moment, and the SQL of "
        f"each figure, need what makes one: {line_that_adds('lake')}"
    )
    return _write(report, options)


def _of_lake(lake: Lake | None, options: ReportOptions, verdicts: Mapping[str, Verdict]) -> Report:
    """The report of a lake. lake: None for one that is made of directories for this page. verdicts:
    the verdicts of check on these directories."""
    from pipelines.report.gathering import make_report

    paths = options.paths or ()
    with ExitStack() as stack:
        if lake is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kraftlake-"))
            place = Lake(os.path.join(folder, "lake"))
        else:
            place = lake
        if paths:
            from jobs import ingest

            ingest.fill(paths, place, options.order, is_shown=not options.json_output)
        return make_report(
            source(place),
            cluster=options.cluster,
            version=release(),
            generated_at=datetime.now(UTC),
            of_directories=() if lake else tuple(paths),
            verdicts=verdicts,
        )


def _verdicts(options: ReportOptions) -> dict[str, Verdict] | None:
    """The verdicts of check on the directories, by cluster id; None where a path is a URI, which
    only a lake's reader opens."""
    from jobs.cli.directories.reported.verdicts import verdicts_of

    paths = [*(options.paths or ())]
    if any(is_uri(path) and not os.path.lexists(path) for path in paths):
        return None
    return verdicts_of(paths, names_in(options.order))


def _write(report: Report, options: ReportOptions) -> int:
    from pipelines.report.page import render

    page, output = render(report), options.output
    if is_standard_output(output):
        write_text(page)
        _print(report, complain)
        return 0
    write_page(output, page, "-o")
    if options.json_output:
        for view in report.clusters:
            write_json({"file": output, **_plain(view)})
        return 0
    _print(report, write_line)
    write_line(output)
    return 0


def _can_make_a_lake() -> bool:
    return all(find_spec(name) is not None for name in _OF_A_LAKE)


def _of_directories(options: ReportOptions) -> Report | None:
    """The report of directories without a lake; None where no cluster of theirs is known."""
    from jobs.cli.directories.reported.pages import report_of

    return report_of([*(options.paths or ())], names_in(options.order), options.cluster)


def _of_no_log(options: ReportOptions) -> int:
    """Writes the page of what-happened, which says why no cluster is known. Returns 0. Raises
    UsageError where --json wants rows about a cluster."""
    paths = [*(options.paths or ())]
    if options.json_output:
        raise UsageError(
            f"{' '.join(paths)}: no directory names its cluster and holds a record of it; "
            "`kraftlake what-happened` says more"
        )
    what_happened.run(
        WhatHappenedOptions(
            paths, cluster=options.cluster, order=options.order, html=options.output
        )
    )
    return 0


def source(lake: Lake) -> ReportSource:
    """The lake in the form that the report queries. Raises UsageError where there is no lake, or a
    lake of another schema version."""
    from jobs.cli.asking.query_result import QueryError
    from jobs.cli.asking.sql_delta_rs import OwnQueries
    from pipelines.report.source import ReportSource

    tables, queries = tables_of(lake), OwnQueries(lake)

    def ask(sql: str) -> list[Mapping[str, Any]]:
        try:
            named = [name for name in tables_named(sql) if name in tables]
            return list(queries.answer(sql, named).by_name())
        except QueryError as error:  # the query is ours, so the cause is the lake
            raise UnreadableFileError(
                f"--lake {lake}",
                f"a file of it is missing, damaged or of another release ({error}); fill a new "
                "lake with `kraftlake ingest --build`, or build this one again",
            ) from error

    return ReportSource(lake, tables, ask)


def _print(report: Report, line: Callable[[str], None]) -> None:
    for text in report_lines(report):
        line(text)


def report_lines(report: Report) -> Iterator[str]:
    """The verdicts as `check` prints them: for several clusters, first one verdict on all of them,
    then each verdict, the worst first."""
    views = sorted(report.clusters, key=lambda one: one.verdict.level.rank)
    judged = [one.verdict.judged for one in views if one.verdict.judged is not None]
    if 1 < len(judged) == len(views):
        yield from one_verdict([*map(_in_short, views)]).lines
        apart = one_verdict([*map(_cluster_verdict, views, judged)]).verdicts
        views = [_with_verdict(*pair) for pair in zip(views, apart, strict=True)]
    for number, view in enumerate(views):
        yield from [""] * bool(number)
        yield from lines_of(view)
    if report.more:
        yield f"and {report.more} more clusters: --cluster C makes the page of one"


def _cluster_verdict(view: ClusterView, judged: Verdict) -> ClusterVerdict:
    nodes = sorted({int(row["node_id"]) for row in view.evidence.replicas.rows})
    return ClusterVerdict(judged, (*nodes,))


def _in_short(view: ClusterView) -> ClusterVerdict:
    """The verdict for the lines above all clusters: with the report's own headline."""
    verdict = view.verdict
    assert verdict.judged is not None
    told = replace(verdict.judged, level=verdict.level, headline=verdict.headline)
    return _cluster_verdict(view, told)


def _with_verdict(view: ClusterView, judged: Verdict) -> ClusterView:
    return replace(view, verdict=replace(view.verdict, judged=judged))


_FORM = VerdictForm(3, "`kraftlake check` lists them", "`kraftlake check -v`")


def lines_of(view: ClusterView) -> Iterator[str]:
    """The lines of the verdict, as `check` prints them, and then what the report knows besides."""
    verdict, judged = view.verdict, view.verdict.judged
    leading = verdict.leading
    if leading is not None:
        yield level_line(verdict.level, verdict.headline)
    if judged is None:
        identity = labelled("cluster", view.cluster_id)
    else:
        describe = describe_verdict if leading is None else beside_worse
        *lines, identity = describe(judged, form=_FORM)
        yield from lines
    if view.summary.refused:
        yield labelled("refused", view.summary.refused)
    if view.summary.refused_step:
        yield labelled("  next", view.summary.refused_step)
    if verdict.of_logs:
        yield labelled("logs", verdict.of_logs)
    yield identity


def _plain(view: ClusterView) -> dict[str, Any]:
    return {
        "cluster_id": view.cluster_id,
        "level": view.verdict.level.value,
        "headline": view.verdict.headline,
        "sentence": view.verdict.sentence,
        "next_steps": [step.text for step in view.next_steps or ()],
        "runbook": view.runbook,
        "not_judged": gap_rows(view.verdict.judged),
        "clauses": [
            {"level": clause.level.value, "text": clause.text} for clause in view.verdict.clauses
        ],
        "findings": [
            {"rule": one.id, "severity": one.severity, "findings": one.findings, "newest": one.now}
            for one in view.rules
        ],
        "refused": view.summary.refused,
        "refused_next": view.summary.refused_step,
    }
