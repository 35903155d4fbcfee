"""The rows of a chunk, as the kernels behind the first pass read them (replica.scan.frames).
Here are the kernels that gather their values, and that find odd rows and rows of some types."""

from __future__ import annotations

from replica.scan import frames
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import is_telling_config
from replica.scan.kernels.memory import item, long, set_item
from replica.scan.kernels.straight import place_finder
from replica.scan.kernels.text import copy
from replica.scan.native import Bytes, Longs


@inner
def cell(rows: Longs, column: int, row: int) -> int:
    """The number in one column of a row. column: such as frames.ROW_VALUE."""
    number: int = item(rows, column * frames.ROWS + row)
    return number


def gather_values(
    source: Bytes, rows: Longs, low: int, high: int, output: Bytes, offsets: Longs
) -> int:
    """Copy the values of rows low <= row < high; a null takes no bytes. Returns the bytes copied.

    output: with room for all values and for tables.SLACK. offsets: one more item than rows.
    """
    to = long(0)
    for row in range(low, high):
        set_item(offsets, row - low, to)
        size = cell(rows, frames.ROW_VALUE_SIZE, row)
        if size > 0:
            to = copy(output, to, source, cell(rows, frames.ROW_VALUE, row), size)
    set_item(offsets, high - low, to)
    return to


_find_places = place_finder()


def find_odd_rows(
    source: Bytes, rows: Longs, count: int, guarded: int, sought: Longs, odd: Longs, places: Longs
) -> int:
    """Note which of the rows 0 <= row < count no program reads, or have a sought program.

    guarded: as in json_lines; its rows that may hold a secret are noted too. sought: for each
    program, 1 where its rows are noted. odd: gets the numbers of the noted rows, with room for all;
    their count is returned. places: tables.MAX_WIDTH items of scratch.
    """
    found = long(0)
    for row in range(count):
        program = cell(rows, frames.ROW_PROGRAM, row)
        is_plain = False
        if program >= 0 and item(sought, program) == 0:
            position = cell(rows, frames.ROW_VALUE, row)
            end = position + cell(rows, frames.ROW_VALUE_SIZE, row)
            fields = position + frames.ENVELOPE_BYTES
            if program != guarded or not is_telling_config(source, fields, end):
                is_plain = _find_places(source, fields, end, program, places)
        if not is_plain:
            set_item(odd, found, row)
            found += 1
    return found
