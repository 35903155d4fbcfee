# ruff: noqa: S608 (every name that is put into the SQL is quoted)
"""What `kraftlake export` writes as a .sql file: views by which a plain DuckDB reads the lake where
it lies, without kraftlake, Python or an extension.

    duckdb -init lake.sql        then: SELECT * FROM gold.findings;

A view names the Parquet files of one version of its table. DuckDB can't read the VARIANT of other
programs from bytes, so a view leaves that column out, and says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from jobs.asking.sql_delta_rs import opened_table, quoted
from jobs.asking.sql_views import AT_END, DUCK_DB, HISTORY, VIEWS, literal, statements
from pipelines.lake import SCHEMAS, Lake
from replica.scan.variant_texts import is_variant

_HEAD = (
    "-- Views of a lake for DuckDB, made by `kraftlake export`. They show the tables as they were",
    "-- then: make this file anew after each ingest and build. `kraftlake maintain` deletes the",
    "-- files of earlier versions after 7 days.",
)
_SCALARS = {
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
}
"""The types that columns of a lake have, as DuckDB calls them."""


def write_views(place: Path, lake: Lake, tables: Sequence[str]) -> dict[str, int]:
    """Write views of these tables, and the ready-made views where the lake has the table below
    them; the rows that each table has. Raises UnreadableFileError, OSError."""
    counts: dict[str, int] = {}
    lines = [*_HEAD, *(f"CREATE SCHEMA IF NOT EXISTS {schema};" for schema in SCHEMAS)]
    for table in tables:
        counts[table], view = _view(lake, table)
        lines += view
    if HISTORY in tables:
        lines += (f"{one};" for one in statements(VIEWS, DUCK_DB, AT_END))
    place.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return counts


def _view(lake: Lake, table: str) -> tuple[int, Iterator[str]]:
    """The rows of a table, and the lines that make its view."""
    uri = lake.table_uri(table)
    with opened_table(lake, table) as opened:
        rows = opened.to_pyarrow_dataset()  # refuses what Parquet files alone don't tell
        paths = opened.get_add_actions().column("path").to_pylist()
        return rows.count_rows(), _lines(
            table, rows.schema, [_file(lake, uri, one) for one in paths]
        )


def _file(lake: Lake, uri: str, path: str) -> str:
    return f"{uri}/{path}" if lake.is_remote else os.path.join(os.path.abspath(uri), path)


def _lines(table: str, schema: pa.Schema, files: Sequence[str]) -> Iterator[str]:
    left_out = [field.name for field in schema if is_variant(field.type)]
    kept = [field for field in schema if not is_variant(field.type)]
    for name in left_out:
        yield f"-- {table}: without {name}, a VARIANT: `kraftlake export -o x.duckdb` has its JSON"
    if files:
        columns = ", ".join(f'"{field.name}"' for field in kept)
        of = f"read_parquet([{', '.join(map(literal, files))}])"
        yield f"CREATE OR REPLACE VIEW {quoted(table)} AS SELECT {columns} FROM {of};"
        return
    nulls = ", ".join(f'CAST(NULL AS {_type(field.type)}) AS "{field.name}"' for field in kept)
    yield f"CREATE OR REPLACE VIEW {quoted(table)} AS SELECT {nulls} WHERE false;"


def _type(kind: pa.DataType) -> str:
    if pa.types.is_list(kind):
        return f"{_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return "STRUCT(" + ", ".join(f'"{one.name}" {_type(one.type)}' for one in kind) + ")"
    return _SCALARS[kind]
