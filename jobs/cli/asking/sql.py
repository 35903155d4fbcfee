"""`kraftlake sql`: one query over a lake's tables.

delta-rs' QueryBuilder (DataFusion) answers at once and needs no Java. DuckDB needs no Java either,
and has JSON functions. Spark knows more SQL. In all three, bronze.x, silver.x and gold.x are the
tables, and only the tables that the query names are opened.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from jobs.cli.asking.query_result import LakeQuery, QueryError, QueryResult, write_answer
from jobs.cli.asking.sql_views import HISTORY, VIEWS, View, views_in
from jobs.cli.commands.asking import DUCKDB, ENGINES, SPARK, SqlOptions
from jobs.cli.commands.combinations import form_of
from jobs.cli.memory_bound import bound_of, keep_within
from jobs.cli.moments import NOW
from jobs.cli.output import complain
from pipelines.lake import Lake
from pipelines.lake.tables import tables_of
from pipelines.sql_text import check_not_empty, lists_tables, tables_named
from replica.errors import UsageError

if TYPE_CHECKING:
    from jobs.cli.asking.lake_history import ClusterHistory

_MISSING_TABLE = re.compile(
    r"table '(?:datafusion\.)?(?:public\.)?([^']+)' not found|Table with name (\S+) does not exist"
)
_MISSING_SCHEMA = re.compile(r"failed to resolve schema: (\S+)")


def ask(options: SqlOptions) -> int:
    """Prints the answer, or shows a prompt where there is no query and the input is a terminal.
    Returns 0."""
    keep_within(bound_of(options.memory))
    form = form_of(options.json_output, options.csv, options.plain_csv)
    given = (options.query, options.file, options.question, options.tables, options.questions)
    is_asked = any(one not in (None, False) for one in given)
    if is_asked or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return run(options, form)
    from jobs.cli.asking.sql_prompt import prompt

    return prompt(options, form, run)


def run(options: SqlOptions, form: str) -> int:
    """Prints the answer to the query, or the list of tables or of ready-made questions, in a form
    of write_answer. Returns 0. Raises UsageError for wrong options, and QueryError where the query
    fails."""
    if options.engine not in ENGINES:
        raise UsageError(
            f"--engine {options.engine}: choose {', '.join(ENGINES[:-1])} or {ENGINES[-1]}"
        )
    if options.tables or options.questions:
        return _list(options, form)
    query = _query(options)
    check_not_empty(query)
    in_lake = tables_of(options.lake)
    wanted = tables_named(query)
    named: Sequence[str] = [name for name in wanted if name in in_lake]
    views = _views(options, wanted, in_lake)
    missing = sorted({*wanted} - {*named, *(view.name for view in views)})
    if options.question is not None and missing:
        raise QueryError(
            f"--question {options.question} reads {', '.join(missing)}, which the lake doesn't "
            f"have: run `{options.lake.command('build')}`"
        )
    if lists_tables(query):
        named, views = in_lake, VIEWS if HISTORY in in_lake else ()
    elif views:
        named = sorted({*named, HISTORY})
    ends = _ends(options) if views else None
    asking: AbstractContextManager[None] = nullcontext()
    if options.engine == SPARK:
        from jobs.cli.asking.sql_spark import answer
        from jobs.cli.interrupts import interruptible

        asking = interruptible("sql", lambda: "nothing was changed: ask again")
    elif options.engine == DUCKDB:
        from jobs.cli.asking.sql_duckdb import answer
    else:
        from jobs.cli.asking.sql_delta_rs import answer
    given = None if options.memory is None else bound_of(options.memory)
    try:
        with asking:
            write_answer(
                answer(LakeQuery(options.lake, query, named, views, ends, given)),
                form,
            )
    except QueryError as error:
        raise QueryError(explained(str(error), in_lake)) from error
    return 0


def _views(options: SqlOptions, wanted: Sequence[str], in_lake: Sequence[str]) -> tuple[View, ...]:
    """The views that the query names, unless the lake has tables of these names. Raises UsageError
    where a moment or a cluster is given and no view is named, and QueryError where the lake lacks
    the table that the views read."""
    views = views_in(name for name in wanted if name not in in_lake)
    if (options.moment != NOW or options.cluster is not None) and not views:
        raise UsageError(
            "--at-offset, --at-time and --cluster are for the views, and the query names no view: "
            f"{', '.join(view.name for view in VIEWS)}"
        )
    if views and HISTORY not in in_lake:
        raise QueryError(
            f"{views[0].name} is a view of {HISTORY}, which the lake doesn't have: run "
            f"`{options.lake.command('build')}`"
        )
    return views


def _ends(options: SqlOptions) -> dict[str, int] | None:
    """The end offsets for LakeQuery; None for the state of all clusters at their logs' ends. Raises
    UsageError for a moment that the lake doesn't know, whatever the engine."""
    from jobs.cli.asking.lake_history import ClusterHistory, cluster_history, clusters_of

    if options.cluster is not None:
        history = cluster_history(options.lake, options.cluster, committed_only=False)
        return {history.cluster_id: history.end_offset(options.moment)}
    clusters = clusters_of(options.lake)
    only = len(clusters) == 1
    if options.moment == NOW and not only:
        _tell_of_unknown_ends(options.lake)
        return None
    histories = [ClusterHistory(options.lake, name) for name in clusters]
    return {one.cluster_id: _end_offset(one, options, only) for one in histories}


def _tell_of_unknown_ends(lake: Lake) -> None:
    """Names the clusters whose state at the log's end is unknown: the views have no rows about
    them."""
    from jobs.cli.asking.lake_history import ends_that_are_not_known, why_unknown

    for cluster_id, log_end in ends_that_are_not_known(lake).items():
        why = why_unknown(lake, cluster_id, log_end)
        complain(f"sql: the views show nothing of cluster {cluster_id}: {why}")


def _end_offset(history: ClusterHistory, options: SqlOptions, is_only_one: bool) -> int:
    if is_only_one:
        return history.end_offset(options.moment)
    if history.is_before_whole_log(options.moment):
        return 0
    try:
        return history.end_offset(options.moment)
    except UsageError as error:
        raise UsageError(
            f"{error} in cluster {history.cluster_id}; --cluster C asks the views about one cluster"
        ) from error


def _list(options: SqlOptions, form: str) -> int:
    """Prints the list of the lake's tables, or of the ready-made questions. Returns 0. Raises
    UsageError where other options are given, too."""
    asked = (options.query, options.file, options.question, options.tables and options.questions)
    if any(one not in (None, False) for one in asked):
        raise UsageError("--tables and --questions list what can be asked, alone: drop the rest")
    if options.tables:
        from jobs.cli.asking.sql_tables import list_tables

        return list_tables(options.lake, form)
    from jobs.cli.asking.questions import QUESTIONS

    if form == "text":
        write_answer(QueryResult(("question", "answers"), (one[:2] for one in QUESTIONS)), "text")
    else:
        write_answer(QueryResult(("question", "answers", "sql"), iter(QUESTIONS)), form)
    return 0


def _query(options: SqlOptions) -> str:
    """The query's text, from the argument, a file, stdin or the ready-made questions. Raises
    UsageError where the options don't give exactly one query, or where the file can't be read or
    the query isn't UTF-8."""
    given = (options.query, options.file, options.question)
    if sum(one is not None for one in given) != 1:
        raise UsageError(
            "give one query: as an argument, with -f FILE, - for stdin, or --question NAME"
        )
    if options.question is not None:
        from jobs.cli.asking.questions import question

        return question(options.question).sql
    try:
        if "-" in (options.query, options.file):
            return sys.stdin.read()
        if options.file is not None:
            with open(options.file, encoding="utf-8") as file:
                return file.read()
    except OSError as error:
        raise UsageError(f"-f {options.file}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError("the query is not UTF-8 text") from error
    return options.query or ""


def explained(message: str, in_lake: Sequence[str]) -> str:
    """An engine's message in one line. For a missing table it also names the table that has this
    name in one of the lake's schemas, or else all tables of the lake."""
    text = " ".join(message.split())
    table = _MISSING_TABLE.search(text)
    schema = _MISSING_SCHEMA.search(text)
    if "TABLE_OR_VIEW_NOT_FOUND" in text or "SCHEMA_NOT_FOUND" in text:
        text = text.split(" cannot be found")[0] + " cannot be found"
    elif table is not None:
        missing = table.group(1) or table.group(2)
        text = f"no table {missing}"
        same_name = [name for name in in_lake if name.endswith("." + missing)]
        if same_name:
            return f"{text}; write {' or '.join(same_name)}"
    elif schema is not None:
        text = f"no schema {schema.group(1)}"
    elif "found: : at" in text:
        return (
            f"{text}; looking into a VARIANT needs --engine duckdb and payload->>'name', or "
            "--engine spark and payload:name"
        )
    else:
        return text
    return f"{text}; the lake has {', '.join(in_lake)}"
