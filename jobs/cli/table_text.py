"""An aligned table as lines of text. On a narrow terminal, cells continue on the lines below."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest

_GAP = 2
_MOST_ALIGNED = 200
"""The widest column where the room is unlimited. Without this limit, one value of thousands of
characters would fill the other rows with blanks."""
MOST_SHOWN = 500
"""The most characters of a cell that a terminal shows."""
_LEAST = 8
"""The least width of a column. On a narrower terminal, the terminal wraps the lines itself."""


def widths_of(names: Sequence[str], rows: Sequence[Sequence[str]], room: int | None) -> list[int]:
    """The columns' widths, from their names and cells. The widest columns are narrowed until all
    columns fit into `room` characters of a terminal, but none below _LEAST. room: None for no
    limit; then a width is at most _MOST_ALIGNED."""
    widths = [
        max([text_width(name), *(text_width(row[index]) for row in rows)])
        for index, name in enumerate(names)
    ]
    if room is None:
        return [min(width, _MOST_ALIGNED) for width in widths]
    room -= _GAP * (len(widths) - 1)
    widths = [min(width, max(room, _LEAST)) for width in widths]
    while sum(widths) > room and max(widths) > _LEAST:
        widths[widths.index(max(widths))] -= 1
    return widths


def cut(cell: str, most: int = MOST_SHOWN) -> str:
    """A cell, cut for people: a cell of thousands of characters would fill a screen. most: the
    number of characters that are shown."""
    if len(cell) <= most:
        return cell
    return f"{cell[:most]}... ({len(cell)} characters; --json has all)"


def row_lines(
    cells: Sequence[str], widths: Sequence[int], right: Sequence[bool], *, wrap: bool
) -> Iterator[str]:
    """The lines of a row: one line or, with `wrap`, as many as the cells need. right: the columns
    of numbers."""
    if not wrap:
        yield aligned(cells, widths, right)
        return
    parts = [wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for line in zip_longest(*parts, fillvalue=""):
        yield aligned(line, widths, right)


def aligned(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    """The row as one line. A cell that is wider than its column moves the cells after it."""
    padded = []
    for cell, width, to_right in zip(cells, widths, right, strict=True):
        space = " " * (width - text_width(cell))
        padded.append(space + cell if to_right else cell + space)
    return (" " * _GAP).join(padded).rstrip()


def wrapped(text: str, width: int) -> list[str]:
    """The text in pieces of at most `width` columns. A piece ends after a blank or comma in its
    second half, where there is one. Together the pieces are the text."""
    pieces = []
    while text_width(text) > width:
        end = _fitting(text, width)
        soft = max(text.rfind(" ", 0, end), text.rfind(",", 0, end)) + 1
        end = soft if soft > end // 2 else end
        pieces.append(text[:end])
        text = text[end:]
    return [*pieces, text]


def _fitting(text: str, width: int) -> int:
    """The number of the text's first characters that fit into `width` columns; at least one."""
    used = 0
    for place, char in enumerate(text):
        used += text_width(char)
        if used > width:
            return max(place, 1)
    return len(text)


def text_width(text: str) -> int:
    """The number of a terminal's columns that a text takes."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(1 for char in text if unicodedata.combining(char))
