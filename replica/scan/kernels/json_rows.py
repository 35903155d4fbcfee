"""The kernel that writes the JSON of a chunk's rows, one text behind another."""

from __future__ import annotations

from replica.scan.frames import ENVELOPE_BYTES, ROW_PROGRAM, ROW_VALUE, ROW_VALUE_SIZE, ROWS
from replica.scan.kernels.json_values import REFUSED
from replica.scan.kernels.locate import is_telling_config
from replica.scan.kernels.memory import item, long, set_item
from replica.scan.kernels.straight import json_renderer
from replica.scan.native import Bytes, Longs
from replica.scan.tables import (
    PROGRAM_COLUMNS,
    PROGRAM_JSON_BASE,
    PROGRAM_JSON_FACTOR,
    PROGRAMS,
    SLACK,
)

_render = json_renderer()


def write_json(
    source: Bytes,
    rows: Longs,
    low: int,
    high: int,
    guarded: int,
    output: Bytes,
    offsets: Longs,
    refused: Longs,
    places: Longs,
) -> int:
    """Writes the rows low <= row < high; the first row that found no room, or `high`.

    guarded: the program whose secrets are to be redacted, -1 for none. offsets: one more item than
    rows; row low + k has the bytes offsets[k] to offsets[k + 1] of `output`. refused: how many rows
    have no text and are the scalar reader's, then their numbers counted from `low`; an item more
    than rows. places: tables.MAX_WIDTH items of scratch.
    """
    to = long(0)
    refusals = 0
    row = low
    while row < high:
        set_item(offsets, row - low, to)
        program = item(rows, ROW_PROGRAM * ROWS + row)
        behind = REFUSED
        if program >= 0:
            position = item(rows, ROW_VALUE * ROWS + row)
            size = item(rows, ROW_VALUE_SIZE * ROWS + row)
            longest = SLACK + item(PROGRAMS, program * PROGRAM_COLUMNS + PROGRAM_JSON_BASE)
            longest += size * item(PROGRAMS, program * PROGRAM_COLUMNS + PROGRAM_JSON_FACTOR)
            end = position + size
            fields = position + ENVELOPE_BYTES
            if longest <= output.size and to + longest > output.size:
                break
            if longest <= output.size and not (
                program == guarded and is_telling_config(source, fields, end)
            ):
                behind = _render(source, fields, end, program, output, to, places)
        if behind == REFUSED:
            refusals += 1
            set_item(refused, refusals, row - low)
        else:
            to = behind
        row += 1
    set_item(offsets, row - low, to)
    set_item(refused, 0, refusals)
    return row
