"""Reads the rows of a chunk (replica.scan.frames), which the kernel of the first pass has made.

The kernels of this module copy the values of rows, and find the rows that the scalar reader must
check.
"""

from __future__ import annotations

from replica.scan import frames
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import is_telling_config
from replica.scan.kernels.memory import item, long, set_item
from replica.scan.kernels.straight import renderer
from replica.scan.kernels.text import copy
from replica.scan.native import Bytes, Longs


@inner
def cell(rows: Longs, column: int, row: int) -> int:
    """The number in one column of a row. column: a column of frames, such as frames.ROW_VALUE."""
    return item(rows, column * frames.ROWS + row)


def gather_values(
    source: Bytes, rows: Longs, low: int, high: int, output: Bytes, offsets: Longs
) -> int:
    """Copy the values of the rows low <= row < high. A null takes no bytes. Returns the number of
    copied bytes.

    output: an array with room for all values and for tables.SLACK bytes more. offsets: an array
        with one more item than rows; the kernel writes the position of each value in `output` to
        this array, and then the end of the last value.
    """
    to = long(0)
    for row in range(low, high):
        set_item(offsets, row - low, to)
        size = cell(rows, frames.ROW_VALUE_SIZE, row)
        if size > 0:
            to = copy(output, to, source, cell(rows, frames.ROW_VALUE, row), size)
    set_item(offsets, high - low, to)
    return to


_find_places = renderer("places")


def find_odd_rows(
    source: Bytes, rows: Longs, count: int, guarded: int, sought: Longs, odd: Longs, places: Longs
) -> int:
    """Note the rows 0 <= row < count whose value no program reads, and the rows of some programs.
    Returns the number of noted rows.

    guarded: the program of CONFIG_RECORD, whose rows are noted if they may hold a secret; -1 to
        note no row because of secrets. sought: a number for each program, 1 if all its rows are
        noted.
    odd: an array with room for all rows, to which the numbers of the noted rows are written.
        places: an array of tables.MAX_WIDTH items of scratch.
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
