"""The kernel that gathers the values of a chunk's rows, one behind another."""

from __future__ import annotations

from replica.scan.frames import ROW_VALUE, ROW_VALUE_SIZE, ROWS
from replica.scan.kernels.memory import item, long, set_item
from replica.scan.kernels.text import copy
from replica.scan.native import Bytes, Longs


def gather_values(
    source: Bytes, rows: Longs, low: int, high: int, output: Bytes, offsets: Longs
) -> int:
    """Copy the values of rows low <= row < high; a null takes no bytes. Returns the bytes copied.

    output: with room for all values and for tables.SLACK. offsets: one more item than rows.
    """
    to = long(0)
    for row in range(low, high):
        set_item(offsets, row - low, to)
        size = item(rows, ROW_VALUE_SIZE * ROWS + row)
        if size > 0:
            to = copy(output, to, source, item(rows, ROW_VALUE * ROWS + row), size)
    set_item(offsets, high - low, to)
    return to
