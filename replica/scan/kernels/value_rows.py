"""The kernel that gathers the values of a chunk's rows, one behind another."""

from __future__ import annotations

from replica.scan import frames
from replica.scan.kernels.memory import long, set_item
from replica.scan.kernels.rows import cell
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
        size = cell(rows, frames.ROW_VALUE_SIZE, row)
        if size > 0:
            to = copy(output, to, source, cell(rows, frames.ROW_VALUE, row), size)
    set_item(offsets, high - low, to)
    return to
