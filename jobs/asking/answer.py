"""What a query answers, and how it is printed: the same for every engine."""

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
"""Forms of an answer: for people and their spreadsheets, and with all cells as they are."""
EXPANDED = "expanded"
"""The form with a line for each column of a row."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001
"""What makes a cell a formula in one spreadsheet or another, wide forms included (OWASP)."""


class QueryError(KraftlakeError):
    """The engine refused or failed the query; the message says why in one line."""


@dataclass(frozen=True)
class Answer:
    """A query's columns and rows; the rows are read once, as they come."""

    columns: tuple[str, ...]
    rows: Iterator[Sequence[Any]]


def write_answer(answer: Answer, form: str) -> None:
    """All rows, in the form asked for, as they come."""
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


def _write_expanded(answer: Answer) -> None:
    width = max(map(len, answer.columns), default=0)
    for number, row in enumerate(answer.rows, 1):
        write_line(f"-- row {number} --")
        for name, value in zip(answer.columns, row, strict=True):
            write_wrapped(f"{one_line(name):{width}}  ", cell_text(value), width + 2)


def _plain_cell(value: object) -> str:
    return "" if value is None else encodable(cell_text(value))


def csv_cell(value: object) -> str:
    """A cell of CSV: a text that a spreadsheet would calculate gets a ' before it, which makes it a
    text there too. What would move a terminal's cursor is escaped as in tables."""
    text = "" if value is None else cell_text(value)
    is_number = isinstance(value, int | float | Decimal)
    mark = "'" if text.startswith(_FORMULA_STARTS) and not is_number else ""
    return mark + one_line(text)


def _unlike(columns: Sequence[str]) -> list[str]:
    """Unique names, because keys of JSON must differ: a, a_2, ..."""
    names: list[str] = []
    for column in columns:
        name, number = column, 2
        while name in names:
            name, number = f"{column}_{number}", number + 1
        names.append(name)
    return names
