"""The answer to a query, and how it is printed: the same for every engine."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from jobs.output import (
    cell_text,
    complain,
    encodable,
    one_line,
    write_json,
    write_line,
    write_table,
    write_wrapped,
)
from replica.errors import KraftlakeError

CSV, PLAIN_CSV = "csv", "plain csv"
"""Forms of an answer: CSV for people and their spreadsheets, and CSV with all cells as they are."""
EXPANDED = "expanded"
"""The form that gives each column of a row its own line."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
"""Beginnings that some spreadsheet takes for a formula, wide forms included (OWASP)."""


class QueryError(KraftlakeError):
    """The engine refused the query, or failed. The message says why in one line."""


@dataclass(frozen=True)
class QueryResult:
    """A query's columns and rows. The rows are read once, as they arrive."""

    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]


def write_answer(answer: QueryResult, form: str) -> None:
    """Print all rows as they arrive. form: one of the forms above, text or json."""
    if form == "json":
        names = _unlike(answer.columns)
        for row in answer.rows:
            write_json(dict(zip(names, row, strict=True)))
    elif form in (CSV, PLAIN_CSV):
        writer = csv.writer(sys.stdout, lineterminator="\n")
        cell = csv_cell if form == CSV else _plain_cell
        writer.writerow([cell(name) for name in answer.columns])
        for row in answer.rows:
            writer.writerow([cell(value) for value in row])
    elif form == EXPANDED:
        _write_expanded(answer)
    else:
        count = write_table(answer.columns, answer.rows)
        if sys.stdout.isatty():
            complain(f"({count} row{'' if count == 1 else 's'})")


def _write_expanded(answer: QueryResult) -> None:
    width = max(map(len, answer.columns), default=0)
    for number, row in enumerate(answer.rows, 1):
        write_line(f"-- row {number} --")
        for name, value in zip(answer.columns, row, strict=True):
            write_wrapped(f"{one_line(name):{width}}  ", cell_text(value), width + 2)


def _plain_cell(value: object) -> str:
    return "" if value is None else encodable(cell_text(value))


def csv_cell(value: object) -> str:
    """A cell of CSV. A text that a spreadsheet would calculate gets a ' in front, which makes it a
    text there too. Characters that would move a terminal's cursor are escaped as in tables."""
    text = "" if value is None else cell_text(value)
    is_number = isinstance(value, int | float | Decimal)
    mark = "'" if text.startswith(_FORMULA_STARTS) and not is_number else ""
    return mark + one_line(text)


def _unlike(columns: Sequence[str]) -> list[str]:
    """Distinct names, because the keys of a JSON object must differ: a, a_2, ..."""
    names: list[str] = []
    for column in columns:
        name, number = column, 2
        while name in names:
            name, number = f"{column}_{number}", number + 1
        names.append(name)
    return names
