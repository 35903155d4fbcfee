"""`kraftlake report`: writes what a lake knows of an incident as one HTML file. From
directories it first makes a lake.

It reads the lake with delta-rs, as `kraftlake sql` does, so neither Java nor Spark is needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.cli.commands.options import lake_unless
from jobs.cli.commands.sharing import ReportOptions
from jobs.cli.output import complain, is_standard_output, write_json, write_line, write_text
from pipelines.lake import Lake
from pipelines.lake.tables import tables_of
from pipelines.sql_text import tables_named
from replica.errors import UnreadableFileError, UsageError
from replica.terminal_text import one_line

if TYPE_CHECKING:
    from pipelines.report.page import Report
    from pipelines.report.source import ReportSource
    from pipelines.report.view import ClusterView


def run(options: ReportOptions) -> int:
    """Write the page, and print each cluster's verdict, on stderr where the page goes to standard
    output. Returns 0. Raises KraftlakeError."""
    lake, paths = lake_unless(options.paths, options.lake, "report"), options.paths or ()
    output = options.output
    from pipelines.report.page import make_report, render

    with ExitStack() as stack:
        if lake is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kraftlake-"))
            place = Lake(os.path.join(folder, "lake"))
        else:
            place = lake
        if paths:
            from jobs import ingest

            ingest.fill(paths, place, options.order)
        report = make_report(
            source(place),
            cluster=options.cluster,
            version=_version(),
            generated_at=datetime.now(UTC),
            of_directories=() if lake else tuple(paths),
        )
    page = render(report)
    if is_standard_output(output):
        write_text(page)
        _print(report, complain)
        return 0
    _write(output, page)
    if options.json_output:
        for view in report.clusters:
            write_json({"file": output, **_plain(view)})
        return 0
    _print(report, write_line)
    write_line(output)
    return 0


def source(lake: Lake) -> ReportSource:
    """The lake as the report asks it. Raises UsageError where there is no lake, or one of
    another schema version."""
    from jobs.cli.asking.query_result import LakeQuery, QueryError
    from jobs.cli.asking.sql_delta_rs import answer
    from pipelines.report.source import ReportSource

    tables = tables_of(lake)

    def ask(sql: str) -> list[Mapping[str, Any]]:
        try:
            named = [name for name in tables_named(sql) if name in tables]
            return list(answer(LakeQuery(lake, sql, named)).by_name())
        except QueryError as error:  # The query is ours, so the lake is at fault.
            raise UnreadableFileError(
                f"--lake {lake}",
                f"a file of it is missing, damaged or of another release ({error}); fill a new "
                "lake with `kraftlake ingest --build`, or build this one again",
            ) from error

    return ReportSource(lake, tables, ask)


def _print(report: Report, line: Callable[[str], None]) -> None:
    for view in report.clusters:
        line(one_line(f"{view.cluster_id}: {view.verdict.level.value}"))
        for fact in view.verdict.of_other_clusters:
            line(one_line(f"  {fact.text} {fact.next_step}"))
        line(one_line(f"  {view.verdict.sentence}"))
    if report.more:
        line(f"and {report.more} more clusters: --cluster C makes the page of one")


def _plain(view: ClusterView) -> dict[str, Any]:
    return {
        "cluster_id": view.cluster_id,
        "level": view.verdict.level.value,
        "headline": view.verdict.headline,
        "sentence": view.verdict.sentence,
        "clauses": [
            {"level": clause.level.value, "text": clause.text} for clause in view.verdict.clauses
        ],
        "findings": [
            {"rule": one.id, "severity": one.severity, "findings": one.findings, "newest": one.now}
            for one in view.rules
        ],
    }


def _write(output: str, page: str) -> None:
    """Write a file atomically. An output that is no plain file, such as a pipe, a device or a link,
    is written into, because a new file in its place would remove it."""
    is_special = os.path.lexists(output) and (os.path.islink(output) or not os.path.isfile(output))
    draft = output if is_special else f"{output}.{os.getpid()}.tmp"
    try:
        if not is_special:
            Path(draft).unlink(missing_ok=True)  # A link there must not be written through.
        with open(draft, "w" if is_special else "x", encoding="utf-8", newline="\n") as file:
            file.write(page)
        if not is_special:
            os.replace(draft, output)
    except OSError as error:
        if not is_special and os.path.exists(draft):
            os.unlink(draft)
        raise UsageError(
            f"-o {output}: {error.strerror or error}; name a file in a folder that can be written"
        ) from error


def _version() -> str:
    try:
        return version("kraftlake")
    except PackageNotFoundError:
        return "(from a checkout)"
