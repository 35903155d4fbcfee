"""Queries by DuckDB: SQL with JSON functions, in this process and without Java.

The column payload, a VARIANT in the lake, has the type JSON in these queries: payload->>'name'
gives its field `name` as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow.dataset import Dataset

from jobs.cli.asking import sql_views
from jobs.cli.asking.query_result import LakeQuery, QueryError, QueryResult
from jobs.cli.asking.sql_delta_rs import line_of, opened_table
from jobs.cli.memory_bound import default_bound
from pipelines.by_duckdb import database_of, lock
from pipelines.sql_text import lists_tables, writes

_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema IN ('bronze', 'silver', 'gold', 'own') ORDER BY ALL"
)
"""The query that replaces SHOW TABLES, because DuckDB's answer to SHOW TABLES would also have
internal names of this module."""
_SHARE = 0.8
"""The share of the memory bound that is DuckDB's memory limit."""
_READING = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_ROWS = 1000
"""The rows of one batch of the answer."""


def answer(query: LakeQuery) -> QueryResult:
    """Run the query, and give its result. Raises QueryError where it fails, also while rows are
    read."""
    memory = int((query.memory or default_bound()) * _SHARE)
    try:
        database = database_of({name: _rows_in(query, name) for name in query.tables}, memory)
        for statement in sql_views.statements(query.views, sql_views.DUCK_DB, query.ends):
            database.execute(statement)
        lock(database)
        asked = _TABLES if lists_tables(query.sql) else query.sql
        _refuse_other_statements(database, asked)
        found = database.sql(asked)
        converters = [_parsed if str(kind) == "JSON" else None for kind in found.types]
        batches = found.to_arrow_reader(_ROWS)
    except duckdb.Error as error:
        raise QueryError(line_of(error)) from error
    return QueryResult(tuple(found.columns), _rows(batches, converters))


def _rows_in(query: LakeQuery, table: str) -> Dataset:
    with opened_table(query.lake, table) as opened:
        return opened.to_pyarrow_dataset()


def _refuse_other_statements(database: duckdb.DuckDBPyConnection, query: str) -> None:
    """Raises QueryError for several statements, and UsageError for a statement that does more than
    query, by DuckDB's own parser."""
    statements = database.extract_statements(query)
    if len(statements) > 1:
        raise QueryError("more than one statement: ask one query at a time")
    for statement in statements:
        if statement.type not in _READING:
            raise writes(statement.type.name)


def _parsed(value: str | None) -> Any:
    """The content of a value of type JSON; None for NULL."""
    return None if value is None else json.loads(value)


def _rows(
    batches: pa.RecordBatchReader, converters: Sequence[Callable[[Any], Any] | None]
) -> Iterator[Sequence[Any]]:
    try:
        for batch in batches:
            values = [
                column.to_pylist() if convert is None else list(map(convert, column.to_pylist()))
                for column, convert in zip(batch.columns, converters, strict=True)
            ]
            yield from zip(*values, strict=True)
    except (duckdb.Error, pa.ArrowInvalid, OSError) as error:
        raise QueryError(line_of(error)) from error
