"""The kernel that finds the rows that aren't sound, and the rows of some types."""

from __future__ import annotations

from replica.scan.frames import ENVELOPE_BYTES, ROW_PROGRAM, ROW_VALUE, ROW_VALUE_SIZE, ROWS
from replica.scan.kernels.locate import is_telling_config
from replica.scan.kernels.memory import item, long, set_item
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
        program = item(rows, ROW_PROGRAM * ROWS + row)
        is_plain = False
        if program >= 0 and item(sought, program) == 0:
            position = item(rows, ROW_VALUE * ROWS + row)
            end = position + item(rows, ROW_VALUE_SIZE * ROWS + row)
            fields = position + ENVELOPE_BYTES
            if program != guarded or not is_telling_config(source, fields, end):
                is_plain = _find_places(source, fields, end, program, places)
        if not is_plain:
            set_item(odd, found, row)
            found += 1
    return found
