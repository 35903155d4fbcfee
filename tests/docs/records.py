"""The tables and sentences of the record files, which have the figures of campaigns and of tests
against real Kafka."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.kraftlake_process import REPOSITORY
from tests.markdown import cells_of

_NUMBER = re.compile(r"[\d,]+")


def rows(record: str, *columns: str) -> list[dict[str, str]]:
    """The rows of all tables of a record that have these columns, as cells by column.

    record: the record's path in the repository. Raises LookupError where no table has the columns.
    """
    found = [
        row for table in _tables(REPOSITORY / record) for row in table if row.keys() >= {*columns}
    ]
    if not found:
        raise LookupError(f"{record} has no table with the columns {columns}")
    return found


def total(record: str, column: str, *beside: str) -> int:
    """The sum of a column's numbers, with the first number in each cell. beside: other columns that
    the table has."""
    return sum(number(row[column]) for row in rows(record, column, *beside))


def number(cell: str) -> int:
    """The first number in a cell; 0 where there is none."""
    found = _NUMBER.search(cell)
    return int(found[0].replace(",", "")) if found else 0


def said(record: str, sentence: str) -> dict[str, str]:
    """The figures of the last sentence of this form. sentence: a text with {name} for each figure.

    Raises LookupError where the record has no such sentence.
    """
    text = (REPOSITORY / record).read_text(encoding="utf-8")
    found = list(pattern(sentence).finditer(text))
    if not found:
        raise LookupError(f"{record} says nowhere: {sentence}")
    return found[-1].groupdict()


def pattern(sentence: str) -> re.Pattern[str]:
    """A pattern for sentences of this form, wherever their lines break, with a group for each
    figure."""
    parts = re.split(r"\{(\w+)\}", sentence)
    words = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in parts[::2]]
    figures = [rf"(?P<{name}>\d[\d,.]*\d|\d)" for name in parts[1::2]]
    return re.compile(
        "".join(one for pair in zip(words, [*figures, ""], strict=True) for one in pair)
    )


def _tables(path: Path) -> Iterator[list[dict[str, str]]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    for is_table, group in groupby(lines, lambda line: line.startswith("|")):
        if is_table:
            titles, _, *found = map(cells_of, group)
            yield [dict(zip(titles, one, strict=False)) for one in found]
