"""The kernel that writes rows as lines of JSON, as `kraftlake dump --json` prints them:

{"file":...,"offset":0,"epoch":1,"timestamp":2,"type":"...","version":0,"data":{...}}
"""

from __future__ import annotations

import numpy as np

from replica.scan import frames, tables
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.json_values import REFUSED
from replica.scan.kernels.locate import is_telling_config, program_item
from replica.scan.kernels.memory import item, set_item, store_16
from replica.scan.kernels.rows import cell
from replica.scan.kernels.straight import renderer
from replica.scan.kernels.text import copy, put_integer
from replica.scan.native import Bytes, Longs

_render = renderer("json")

_EPOCH, _TIME = b',"epoch":', b',"timestamp":'
_LABELS = [
    f',"type":"{program.schema.name}","version":{program.version},"data":'.encode()
    for program in tables.KERNEL_PROGRAMS
]
_TEXT = np.frombuffer(b"".join((_EPOCH, _TIME, *_LABELS)) + bytes(8), np.uint8)
_LABEL_PLACES = np.cumsum([len(_EPOCH + _TIME), *map(len, _LABELS)]).astype(np.int64)
_EPOCH_SIZE, _TIME_SIZE = len(_EPOCH), len(_TIME)
_LINE_END = int.from_bytes(b"}\n", "little")
_FIXED_ROOM = len(_EPOCH + _TIME) + 3 * 20 + max(map(len, _LABELS)) + 2 + tables.SLACK
"""The most bytes of a line without its prefix and its data."""


@inner
def _put_head(batches: Longs, rows: Longs, row: int, prefix: Bytes, output: Bytes, to: int) -> int:
    """Write the part of a line that comes before its data. Returns the position after this
    part."""
    batch = cell(rows, frames.ROW_BATCH, row)
    label = cell(rows, frames.ROW_PROGRAM, row)
    to = copy(output, to, prefix, 0, prefix.size)
    to = put_integer(output, to, cell(rows, frames.ROW_OFFSET, row))
    to = copy(output, to, _TEXT, 0, _EPOCH_SIZE)
    to = put_integer(output, to, item(batches, frames.BATCH_EPOCH * frames.BATCHES + batch))
    to = copy(output, to, _TEXT, _EPOCH_SIZE, _TIME_SIZE)
    to = put_integer(output, to, cell(rows, frames.ROW_TIME, row))
    place = item(_LABEL_PLACES, label)
    return copy(output, to, _TEXT, place, item(_LABEL_PLACES, label + 1) - place)


@inner
def _put_line(
    source: Bytes,
    batches: Longs,
    rows: Longs,
    row: int,
    prefix: Bytes,
    output: Bytes,
    to: int,
    places: Longs,
) -> int:
    position = cell(rows, frames.ROW_VALUE, row)
    end = position + cell(rows, frames.ROW_VALUE_SIZE, row)
    program = cell(rows, frames.ROW_PROGRAM, row)
    to = _put_head(batches, rows, row, prefix, output, to)
    to = _render(source, position + frames.ENVELOPE_BYTES, end, program, output, to, places)
    if to == REFUSED:
        return REFUSED
    store_16(output, to, _LINE_END)
    return to + 2


def write_lines(
    source: Bytes,
    batches: Longs,
    rows: Longs,
    chosen: Longs,
    low: int,
    high: int,
    guarded: int,
    shown: Longs,
    prefix: Bytes,
    output: Bytes,
    places: Longs,
    state: Longs,
) -> int:
    """Write a line for each of the rows chosen[low:high]. Returns the place in `chosen` at which
    the kernel stopped.

    guarded: the program whose rows are refused if they may hold a secret; -1 to refuse no row
        because of secrets. shown: a number for each program. Rows of a program with 0 are checked,
        so that damaged rows are refused, but no line is written for them. prefix: the beginning of
        each line, up to the offset. places: an array of tables.MAX_WIDTH items of scratch. state:
        an array that gets the LINES_ITEMS numbers of tables.
    """
    to = 0
    refused = 0
    k = low
    while k < high:
        row = item(chosen, k)
        program = cell(rows, frames.ROW_PROGRAM, row)
        behind = REFUSED
        if program >= 0:
            position = cell(rows, frames.ROW_VALUE, row)
            size = cell(rows, frames.ROW_VALUE_SIZE, row)
            longest = size * program_item(program, tables.PROGRAM_JSON_FACTOR)
            longest += program_item(program, tables.PROGRAM_JSON_BASE)
            longest += _FIXED_ROOM + prefix.size
            fields = position + frames.ENVELOPE_BYTES
            if longest <= output.size and to + longest > output.size:
                break
            if longest <= output.size and not (
                program == guarded and is_telling_config(source, fields, position + size)
            ):
                behind = _put_line(source, batches, rows, row, prefix, output, to, places)
        if behind == REFUSED:
            refused = 1
            break
        if item(shown, program):
            to = behind
        k += 1
    set_item(state, tables.LINES_WRITTEN, to)
    set_item(state, tables.LINES_REFUSED, refused)
    return k
