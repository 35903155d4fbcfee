# ruff: noqa: S608 (all that is put into the SQL is ours)
"""Queries by DuckDB: SQL with JSON functions, in this process and without Java.

delta-rs says which rows a table has, and DuckDB reads them as Arrow. payload, a VARIANT, is a
column of type JSON here: payload->>'name' is a text in it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import ARROW

from jobs.cli.asking.query_result import LakeQuery, QueryError, QueryResult
from jobs.cli.asking.sql_delta_rs import line_of, opened_table, quoted
from jobs.cli.asking.sql_text import lists_tables
from jobs.cli.asking.sql_views import DUCK_DB, statements
from pipelines.lake import SCHEMAS
from replica.scan.variant_texts import is_variant, variant_texts

_VARIANT = "STRUCT(metadata BLOB, value BLOB)"
_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema IN ('bronze', 'silver', 'gold') ORDER BY ALL"
)
"""The answer to SHOW TABLES. DuckDB's own answer would have names of this module too."""
_ROWS = 1000
"""The rows of one batch of the answer."""


def answer(query: LakeQuery) -> QueryResult:
    """Run the query. Raises QueryError where it fails, also while rows are read."""
    database = duckdb.connect()
    try:
        _prepare(database, query)
        for statement in statements(query.views, DUCK_DB, query.valid):
            database.execute(statement)
        # From here on the query can reach only what was made above.
        database.execute("SET enable_external_access = false")
        database.execute("SET lock_configuration = true")
        if len(database.extract_statements(query.sql)) > 1:
            raise QueryError("more than one statement: ask one query at a time")
        found = database.sql(_TABLES if lists_tables(query.sql) else query.sql)
        converters = [_parsed if str(kind) == "JSON" else None for kind in found.types]
        batches = found.to_arrow_reader(_ROWS)
    except duckdb.Error as error:
        raise QueryError(line_of(error)) from error
    return QueryResult(tuple(found.columns), _rows(batches, converters))


def _prepare(database: duckdb.DuckDBPyConnection, query: LakeQuery) -> None:
    database.execute("SET TimeZone = 'UTC'")
    database.execute("SET python_enable_replacements = false")
    database.create_function("variant_json", variant_texts, [_VARIANT], "VARCHAR", type=ARROW)
    for schema in SCHEMAS:
        database.execute(f"CREATE SCHEMA {schema}")
    for number, table in enumerate(query.tables):
        with opened_table(query.lake, table) as opened:
            rows = opened.to_pyarrow_dataset()
        held = f"lake_{number}"
        database.register(held, rows)
        database.execute(
            f"CREATE VIEW {quoted(table)} AS SELECT {_columns(rows.schema)} FROM {held}"
        )


def _columns(schema: pa.Schema) -> str:
    variants = [field.name for field in schema if is_variant(field.type)]
    shown = ", ".join(f'CAST(variant_json("{name}") AS JSON) AS "{name}"' for name in variants)
    return f"* REPLACE ({shown})" if shown else "*"


def _parsed(value: str | None) -> Any:
    """The content of a value of type JSON."""
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
