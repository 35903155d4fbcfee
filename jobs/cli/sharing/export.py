"""`kraftlake export`: tables of a lake, or the answer to a query, for programs that don't read
Delta.

delta-rs reads the tables as for `kraftlake sql`, so neither Java nor Spark is needed. Batches
stream through, so memory doesn't grow with a table. The result becomes visible when it is
complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobs.cli.asking.query_result import LakeQuery, QueryError
from jobs.cli.asking.questions import question
from jobs.cli.asking.sql import explained
from jobs.cli.commands.sharing import ExportOptions
from jobs.cli.memory_bound import bound_of, keep_within
from jobs.cli.output import complain, write_json, write_table
from jobs.cli.sharing.export_draft import draft_of
from pipelines.dialects import DATA_FUSION
from pipelines.lake.tables import check_table, tables_of
from pipelines.sql_text import check_not_empty, tables_named
from replica.errors import KraftlakeError, UnwritableFileError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from jobs.cli.sharing.export_targets import Exported

FORMS = {
    "duckdb": (".duckdb",),
    "sqlite": (".sqlite", ".sqlite3", ".db"),
    "parquet": (".parquet",),
    "csv": (".csv",),
    "views": (".sql",),
}
"""The forms, with the endings of -o that choose each form."""
_OF_FILES = ("parquet", "csv")
ANSWER = "answer"
"""The name of the table with a query's answer."""


def run(request: ExportOptions) -> int:
    """Writes the tables, and prints how many rows each table has. Returns 0.
    Raises KraftlakeError."""
    bound = bound_of(request.memory)
    keep_within(bound)
    from jobs.cli.sharing.export_targets import target_of, write_views  # these load pyarrow

    query = request.query if request.question is None else question(request.question).sql
    form = _form(request)
    in_lake = tables_of(request.lake)
    queries = _queries(query, request.tables or in_lake, in_lake)
    if form == "views":
        if query is not None:
            raise UsageError(
                f"-o {request.output}: views are of tables, not of an answer: leave --query and "
                "--question out, or name another form"
            )
        with _replaced(request) as draft:
            return _show(request, write_views(draft, request.lake, tuple(queries)))
    is_one_file = request.output.lower().endswith(FORMS[form])
    if form in _OF_FILES and is_one_file and len(queries) > 1:
        raise UsageError(
            f"-o {request.output}: one {form} file holds one table, and {len(queries)} are wanted: "
            "name one table, or a folder"
        )
    counts = {}
    with (
        _replaced(request) as draft,
        _in_one_line(f"-o {request.output}"),
        target_of(form, draft, is_one_file=is_one_file) as write,
    ):
        for name, sql in queries.items():
            if len(queries) > 1:
                complain(f"export: {name}")
            table = _table(LakeQuery(request.lake, sql, (), memory=bound), name, in_lake)
            with _in_one_line(name):
                counts[name] = write(table)
    return _show(request, counts)


def _show(request: ExportOptions, counts: Mapping[str, int]) -> int:
    """Prints how many rows each table has. Returns 0."""
    if request.json_output:
        for name, rows in counts.items():
            write_json({"table": name, "rows": rows, "file": request.output})
    else:
        write_table(("table", "rows"), counts.items())
    return 0


def _form(request: ExportOptions) -> str:
    """The form that --to names, else the form of the ending of -o. Raises UsageError where neither
    gives a form."""
    if request.form is not None:
        if request.form not in FORMS:
            raise UsageError(f"--to {request.form}: choose one of {', '.join(FORMS)}")
        return request.form
    for form, endings in FORMS.items():
        if request.output.lower().endswith(endings):
            return form
    raise UsageError(
        f"-o {request.output}: its ending doesn't say what is wanted: end it with "
        f"{', '.join(ends[0] for ends in FORMS.values())}, or add --to {'|'.join(FORMS)}"
    )


def _queries(query: str | None, tables: Sequence[str], in_lake: Sequence[str]) -> dict[str, str]:
    """A query for each table to write, by the table's name. query: the query whose answer is
    written instead of tables."""
    if query is not None:
        check_not_empty(query)
        return {ANSWER: query}
    for name in tables:
        check_table(name, in_lake)
    return {name: f"SELECT * FROM {DATA_FUSION.table(name)}" for name in tables}


def _table(query: LakeQuery, name: str, in_lake: Sequence[str]) -> Exported:
    """The answer to the query, with this name, as a stream from the lake. Raises QueryError."""
    from jobs.cli.asking.sql_delta_rs import read
    from jobs.cli.sharing.export_targets import Exported
    from pipelines.lake.json_view import json_columns, plain

    named = [one for one in tables_named(query.sql) if one in in_lake]
    try:
        answer = read(replace(query, tables=named))
    except QueryError as error:
        raise QueryError(explained(str(error), in_lake)) from error
    batches: pa.RecordBatchReader = plain(answer)
    return Exported(name, batches, json_columns(batches.schema))


@contextmanager
def _in_one_line(name: str) -> Iterator[None]:
    """Raises, for errors of the disk and of the database, UnwritableFileError and QueryError with a
    text of one line that begins with the name."""
    try:
        yield
    except KraftlakeError:
        raise
    except OSError as error:
        raise UnwritableFileError(name, error.strerror or str(error)) from error
    except Exception as error:  # each database has its own errors
        if type(error).__module__.split(".")[0] in ("duckdb", "_duckdb", "sqlite3", "pyarrow"):
            line = " ".join(str(error).split("Traceback (most", 1)[0].split())
            raise QueryError(f"{name}: {line}") from error
        raise


def _replaced(request: ExportOptions) -> AbstractContextManager[Path]:
    """A draft of -o, as export_draft.draft_of gives it. Raises UsageError where -o must not be
    replaced."""
    output = Path(request.output)
    if os.path.lexists(output) and not request.overwrite:
        raise UsageError(
            f"-o {request.output}: is there already: name another place, or add --overwrite"
        )
    if output.is_symlink() or (output.is_dir() and _holds_other_things(output)):
        raise UsageError(
            f"-o {request.output}: is no export that could be replaced: name another place"
        )
    if not output.parent.is_dir():
        raise UsageError(f"-o {request.output}: there is no folder {output.parent}: make it first")
    return draft_of(output)


def _holds_other_things(folder: Path) -> bool:
    """Whether a folder holds other things than the files of an earlier export."""
    files = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return any(path.is_symlink() or path.suffix[1:] not in _OF_FILES for path in files)
