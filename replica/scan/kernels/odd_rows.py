"""The kernel that finds the rows that aren't sound, and the rows of some types."""

from __future__ import annotations

from replica.scan import frames
from replica.scan.kernels.locate import is_telling_config
from replica.scan.kernels.memory import item, long, set_item
from replica.scan.kernels.rows import cell
from replica.scan.kernels.straight import place_finder
from replica.scan.native import Bytes, Longs

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
