"""The rows of a chunk, as the kernels behind the first pass read them (replica.scan.frames)."""

from __future__ import annotations

from replica.scan import frames
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import item
from replica.scan.native import Longs


@inner
def cell(rows: Longs, column: int, row: int) -> int:
    """The number in one column of a row. column: such as frames.ROW_VALUE."""
    number: int = item(rows, column * frames.ROWS + row)
    return number
