"""The targets of `kraftlake export`: a DuckDB or SQLite database, or Parquet or CSV files.

A target takes one table after another as a stream of Arrow batches, in which each VARIANT is JSON
text, and returns how many rows it wrote. It writes only to the place that it was made with.

The form `views` is a .sql file, by which a plain DuckDB reads the lake where it lies, without
kraftlake, Python or an extension:

    duckdb -init lake.sql        then: SELECT * FROM gold.findings;

A view names the Parquet files of one version of its table. DuckDB can't read the VARIANT of other
programs from bytes, so a view leaves that column out, and says so.
"""

from __future__ import annotations

import csv
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from jobs.cli.asking import sql_views
from jobs.cli.asking.query_result import csv_cell
from jobs.cli.asking.sql_delta_rs import opened_table
from jobs.cli.output import cell_text, json_text
from pipelines.data_files import write_parquet
from pipelines.dialects import DUCK_DB, SQLITE, Sql
from pipelines.lake import SCHEMAS, Lake
from replica.errors import UsageError
from replica.scan.variant_texts import is_variant


@dataclass(frozen=True, slots=True)
class Exported:
    """A table to write."""

    name: str
    """The name of the table, such as gold.findings, or `answer` for a query."""
    batches: pa.RecordBatchReader
    json_columns: tuple[str, ...] = ()
    """The columns that were VARIANT and now hold JSON text."""

    @property
    def plain_name(self) -> str:
        """The name without a dot, for a database without schemas."""
        return self.name.replace(".", "_")


_NOT_FOR_DUCKDB = re.compile(r"[\\?\ud800-\udfff]")
Write = Callable[[Exported], int]
"""Writes a whole table to a target. Returns its number of rows."""


def target_of(form: str, place: Path, *, is_one_file: bool) -> AbstractContextManager[Write]:
    """The target for a form: duckdb, sqlite, parquet or csv. When its context ends, everything is
    on disk. is_one_file: one Parquet or CSV file instead of a folder."""
    if form == "duckdb":
        return _duckdb(place)
    if form == "sqlite":
        return _sqlite(place)
    if is_one_file:
        return nullcontext(partial(_write_file, place, form))
    os.mkdir(place)
    return nullcontext(partial(_write_below, place, form))


@contextmanager
def _duckdb(place: Path) -> Iterator[Write]:
    """A DuckDB database: the schemas and names of the lake, a VARIANT as a column of type JSON."""
    import duckdb

    _refuse_for_duckdb(place)
    with duckdb.connect(str(place)) as connection:
        connection.execute("SET TimeZone = 'UTC'")

        def write(table: Exported) -> int:
            name = DUCK_DB.table(table.name)
            if "." in table.name:
                schema = DUCK_DB.identifier(table.name.split(".")[0])
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            as_json = ", ".join(
                f"CAST({one} AS JSON) AS {one}"
                for one in map(DUCK_DB.identifier, table.json_columns)
            )
            columns = f"* REPLACE ({as_json})" if as_json else "*"
            connection.register("arriving", table.batches)
            connection.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM arriving")
            connection.unregister("arriving")
            found = connection.execute(f"SELECT count(*) FROM {name}").fetchone()
            return int(found[0]) if found else 0

        yield write


def _refuse_for_duckdb(place: Path) -> None:
    """Raises UsageError for a path that DuckDB would take for another path, or for none."""
    found = _NOT_FOR_DUCKDB.search(os.path.abspath(place))
    if found:
        raise UsageError(
            f"-o {place.parent}: DuckDB opens no file with {found[0]!a} in its path: name a "
            "place without \\, ? and bytes that are no UTF-8"
        )


@contextmanager
def _sqlite(place: Path) -> Iterator[Write]:
    """A SQLite database: tables such as gold_findings. Times are ISO 8601 texts in UTC, lists and
    structures JSON texts, truth values 0 and 1."""
    with closing(sqlite3.connect(place)) as connection:

        def write(table: Exported) -> int:
            name = SQLITE.identifier(table.plain_name)
            columns = ", ".join(
                f"{SQLITE.identifier(field.name)} {_sqlite_type(field.type)}"
                for field in table.batches.schema
            )
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join(["?"] * len(table.batches.schema))
            count = 0
            for rows in _rows(table.batches):
                connection.executemany(
                    f"INSERT INTO {name} VALUES ({marks})",
                    ([_sqlite_value(value) for value in row] for row in rows),
                )
                count += len(rows)
            connection.commit()
            return count

        yield write


def _write_below(folder: Path, form: str, table: Exported) -> int:
    """Writes the table to a file of its own below the folder, such as gold/findings.parquet.
    Returns the number of rows."""
    path = folder.joinpath(*table.name.split(".")).with_suffix(f".{form}")
    path.parent.mkdir(parents=True, exist_ok=True)
    return _write_file(path, form, table)


def _write_file(path: Path, form: str, table: Exported) -> int:
    """Writes the table's rows to a Parquet or CSV file. Returns their number."""
    if form == "parquet":
        return write_parquet(path, table.batches)
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(csv_cell, table.batches.schema.names))
        for rows in _rows(table.batches):
            writer.writerows(map(csv_cell, row) for row in rows)
            count += len(rows)
    return count


def _rows(batches: pa.RecordBatchReader) -> Iterator[Sequence[tuple[Any, ...]]]:
    """The rows of each batch as Python values."""
    for batch in batches:
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _sqlite_type(kind: pa.DataType) -> Sql:
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "INTEGER"
    if pa.types.is_floating(kind):
        return "REAL"
    return "BLOB" if pa.types.is_binary(kind) else "TEXT"


def _sqlite_value(value: Any) -> Any:
    if value is None or isinstance(value, int | float | str | bytes):
        return value
    return json_text(value) if isinstance(value, list | dict) else cell_text(value)


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
"""The types of a lake's columns, with DuckDB's names."""


def write_views(place: Path, lake: Lake, tables: Sequence[str]) -> dict[str, int]:
    """Writes views of these tables, and the ready-made views if the table that they read is among
    `tables`. Returns how many rows each table has. Raises UnreadableFileError, OSError."""
    counts: dict[str, int] = {}
    used = {table.split(".")[0] for table in tables}
    schemas = [one for one in SCHEMAS if one in used]
    lines = [*_HEAD, *(f"CREATE SCHEMA IF NOT EXISTS {schema};" for schema in schemas)]
    for table in tables:
        counts[table], view = _view(lake, table)
        lines += view
    if sql_views.HISTORY in tables:
        lines += (f"{one};" for one in sql_views.statements(sql_views.VIEWS, sql_views.DUCK_DB))
    place.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return counts


def _view(lake: Lake, table: str) -> tuple[int, Iterator[str]]:
    """The number of rows of a table, and the lines that make its view."""
    uri = lake.table_uri(table)
    with opened_table(lake, table) as opened:
        rows = opened.to_pyarrow_dataset()  # refuses what Parquet files alone don't show
        paths = opened.get_add_actions().column("path").to_pylist()
        folder = uri if lake.is_remote else os.path.abspath(uri)
        files = [f"{folder}/{path}" for path in paths]
        return rows.count_rows(), _lines(table, rows.schema, files)


def _lines(table: str, schema: pa.Schema, files: Sequence[str]) -> Iterator[Sql]:
    name = DUCK_DB.table(table)
    left_out = [field.name for field in schema if is_variant(field.type)]
    kept = [field for field in schema if not is_variant(field.type)]
    for column in left_out:
        shown = ascii(column)[1:-1]  # without a line's end, which would end the comment
        yield f"-- {table}: without {shown}, a VARIANT: `kraftlake export -o x.duckdb` has its JSON"
    if files:
        columns = DUCK_DB.columns(field.name for field in kept)
        of = DUCK_DB.parquet(files)
        yield f"CREATE OR REPLACE VIEW {name} AS SELECT {columns} FROM {of};"
        return
    nulls = ", ".join(
        f"CAST(NULL AS {_type(field.type)}) AS {DUCK_DB.identifier(field.name)}" for field in kept
    )
    yield f"CREATE OR REPLACE VIEW {name} AS SELECT {nulls} WHERE false;"


def _type(kind: pa.DataType) -> Sql:
    """DuckDB's name of the type. Raises UsageError for a type that no table of a lake has."""
    if pa.types.is_list(kind):
        return f"{_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        fields = (f"{DUCK_DB.identifier(one.name)} {_type(one.type)}" for one in kind)
        return f"STRUCT({', '.join(fields)})"
    if kind not in _SCALARS:
        raise UsageError(f"a column of type {kind}: no table that kraftlake writes has one")
    return _SCALARS[kind]
