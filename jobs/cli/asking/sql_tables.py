"""The list of a lake's tables and columns with their meanings, for `kraftlake sql --tables`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobs.cli.asking.query_result import QueryResult, write_answer
from jobs.cli.asking.sql_delta_rs import opened_table
from jobs.cli.asking.sql_views import HISTORY, VIEWS, View
from jobs.cli.output import write_line, write_table
from pipelines.lake import Lake
from pipelines.lake.tables import tables_of


def list_tables(lake: Lake, form: str) -> int:
    """Prints every table and view: as text with its columns below its description, else a row for
    each column. Returns 0."""
    names = tables_of(lake)
    tables = [_opened(lake, name) for name in names]
    if HISTORY in names:
        tables += [_of_view(view) for view in VIEWS]
    if form != "text":
        columns = ("table", "column", "type", "nullable", "comment")
        rows = ((table.name, *column) for table in tables for column in table.columns)
        write_answer(QueryResult(columns, rows), form)
        return 0
    for number, table in enumerate(tables):
        if number:
            write_line("")
        write_line(f"{table.name}: {table.description}".removesuffix(": "))
        write_table(
            ("  column", "type", "comment"),
            [(f"  {name}", kind, comment) for name, kind, _, comment in table.columns],
        )
    return 0


@dataclass(frozen=True, slots=True)
class _Table:
    """A table or a view. columns: (name, type, nullable, comment) of each column."""

    name: str
    description: str
    columns: tuple[tuple[str, str, bool, str], ...]


def _opened(lake: Lake, table: str) -> _Table:
    with opened_table(lake, table) as opened:
        fields = opened.schema().fields
        description = opened.metadata().description or ""
    columns = tuple(
        (field.name, _type_text(field.type), field.nullable, _comment(field)) for field in fields
    )
    return _Table(table, description, columns)


def _of_view(view: View) -> _Table:
    columns = ((name, kind, True, comment) for name, kind, comment in view.columns)
    return _Table(view.name, f"View. {view.description}", tuple(columns))


def _comment(field: Any) -> str:
    return str((field.metadata or {}).get("comment", ""))


def _type_text(kind: Any) -> str:
    """A type as SQL writes it: array<struct<a:int>>."""
    if hasattr(kind, "element_type"):
        return f"array<{_type_text(kind.element_type)}>"
    if hasattr(kind, "key_type"):
        return f"map<{_type_text(kind.key_type)},{_type_text(kind.value_type)}>"
    if hasattr(kind, "fields"):
        inner = ",".join(f"{field.name}:{_type_text(field.type)}" for field in kind.fields)
        return f"struct<{inner}>"
    if not hasattr(kind, "type"):
        return type(kind).__name__.removesuffix("Type").lower()
    return {"long": "bigint", "integer": "int"}.get(kind.type, str(kind.type))
