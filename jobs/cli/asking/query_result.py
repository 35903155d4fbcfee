"""A query for one of the SQL engines, and its result, which is printed alike for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from jobs.cli.asking.sql_views import View
from jobs.cli.clock import ZonedClock
from jobs.cli.output import (
    cell_text,
    complain,
    csv_writer,
    terminal_width,
    write_json,
    write_line,
    write_table,
    write_wrapped,
)
from pipelines.lake import Lake
from replica.errors import KraftlakeError
from replica.terminal_text import encodable, one_line
from replica.words import counted

CSV, PLAIN_CSV = "csv", "plain csv"
"""Forms of an answer: CSV that is safe in spreadsheets, and CSV with all cells unchanged."""
EXPANDED = "expanded"
"""The form that gives each column of a row its own line."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
"""Beginnings of texts that some spreadsheets take for a formula, wide forms included (OWASP)."""


@dataclass(frozen=True, slots=True)
class LakeQuery:
    """A query for one of the engines."""

    lake: Lake
    sql: str
    """The text of the query."""
    tables: Sequence[str]
    """The tables that the query names. The engine opens them."""
    views: Sequence[View] = ()
    """The views that the query names. The engine makes them from `tables`."""
    ends: Mapping[str, int] | None = None
    """The end offset of each cluster whose state at that offset the views show; None for the state
    of all clusters at their logs' ends."""
    memory: int | None = None
    """The most bytes of memory that the engine may take; None for the default."""


class QueryError(KraftlakeError):
    """The engine refused the query, or failed. The message says why in one line."""


@dataclass(frozen=True)
class QueryResult:
    """A query's columns and rows. The rows are read once, as they arrive."""

    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]

    def by_name(self) -> Iterator[dict[str, Any]]:
        """Each row as a dictionary by column name. No two columns may have the same name."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


def write_answer(answer: QueryResult, form: str) -> None:
    """Prints all rows as they arrive. form: CSV, PLAIN_CSV, EXPANDED, text or json."""
    if form == "json":
        for named in replace(answer, columns=_unlike(answer.columns)).by_name():
            write_json(named)
    elif form in (CSV, PLAIN_CSV):
        writer = csv_writer()
        cell = csv_cell if form == CSV else _plain_cell
        writer.writerow([cell(name) for name in answer.columns])
        for row in answer.rows:
            writer.writerow([cell(value) for value in row])
    elif form == EXPANDED:
        _write_expanded(answer)
    else:
        count = write_table(answer.columns, answer.rows)
        if terminal_width() is not None:
            complain(f"({counted(count, 'row')})")


def write_timed(
    columns: Sequence[str], rows: Iterable[tuple[Any, ...]], form: str, clock: ZonedClock
) -> None:
    """Prints rows. Their column `at` is a time in ms since 1970 (UTC), or None: JSON has the ms,
    the other forms have the time in the clock's zone. form: as for write_answer."""
    if form != "json":
        at = columns.index("at")
        rows = (
            row if row[at] is None else (*row[:at], clock.text(row[at]), *row[at + 1 :])
            for row in rows
        )
    write_answer(QueryResult(tuple(columns), iter(rows)), form)


def _write_expanded(answer: QueryResult) -> None:
    width = max(map(len, answer.columns), default=0)
    for number, row in enumerate(answer.rows, 1):
        write_line(f"-- row {number} --")
        for name, value in zip(answer.columns, row, strict=True):
            write_wrapped(f"{one_line(name):{width}}  ", cell_text(value), width + 2)


def _plain_cell(value: object) -> str:
    return "" if value is None else encodable(cell_text(value))


def csv_cell(value: object) -> str:
    """A cell of CSV. A text that a spreadsheet would take for a formula gets a ' in front.
    Characters that would move a terminal's cursor are escaped as in tables.
    """
    text = "" if value is None else cell_text(value)
    is_number = isinstance(value, int | float | Decimal)
    mark = "'" if text.startswith(_FORMULA_STARTS) and not is_number else ""
    return mark + one_line(text)


def _unlike(columns: Sequence[str]) -> tuple[str, ...]:
    """The names, each made different from those before it (a, a_2, ...), because the keys of a
    JSON object must differ."""
    names: list[str] = []
    for column in columns:
        name, number = column, 2
        while name in names:
            name, number = f"{column}_{number}", number + 1
        names.append(name)
    return tuple(names)
