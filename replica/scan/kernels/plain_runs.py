"""The kernel that finds a run of plain batches, with the result of
replica.format.runs.plain_run."""

from __future__ import annotations

from replica.format.batch import (
    CONTROL_ATTRIBUTE,
    CRC_START,
    LENGTH_PREFIX,
    MAGIC,
    MIN_BATCH_LENGTH,
)
from replica.scan import frames as t
from replica.scan.frames import HEADER_BYTES
from replica.scan.kernels.checksum import crc32c
from replica.scan.kernels.memory import byte_at, load_i16, load_i32, load_i64, long, set_item
from replica.scan.native import Bytes, Longs

PREFIX_BYTES = LENGTH_PREFIX.size
_MAX_LONG = (1 << 63) - 1


def find_run(
    source: Bytes,
    position: int,
    expected: int,
    end_offset: int,
    epoch: int,
    limit: int,
    interval: int,
    due: Longs,
    state: Longs,
) -> int:
    """Find the run that begins at `position`. Returns how many batches of the run get an entry in
    the index. These batches are written into `due`. The run ends early if `due` is full.

    expected: the base offset of the first batch, 0 or more. limit: the first batch that begins
        behind this byte gets an entry. due: an array with DUE_COLUMNS numbers for each of DUES
        batches. state: an array that gets the RUN_ITEMS numbers of replica.scan.frames. plain_run
        has the other parameters too.
    """
    end = source.size
    dues = long(0)
    latest = long(0)
    offset_of_latest = long(-1)
    while end - position >= HEADER_BYTES and expected < end_offset:
        delta = load_i32(source, position + 23)
        length = load_i32(source, position + 8)
        if (
            load_i64(source, position) != expected
            or load_i32(source, position + 12) != epoch
            or byte_at(source, position + 16) != MAGIC
            or delta < 0
            or expected >= _MAX_LONG - delta
            or length < MIN_BATCH_LENGTH
            or length > end - position - PREFIX_BYTES
            or load_i16(source, position + 21) & CONTROL_ATTRIBUTE
        ):
            break
        after = position + PREFIX_BYTES + length
        crc = load_i32(source, position + 17) & 0xFFFFFFFF
        if crc32c(source, position + CRC_START, after) != crc:
            break
        if position > limit and dues == t.DUES:
            break
        last_offset = expected + delta
        time = load_i64(source, position + 35)
        if offset_of_latest < 0 or time > latest:
            latest = time
            offset_of_latest = last_offset
        if position > limit:
            row = dues * t.DUE_COLUMNS
            set_item(due, row, position)
            set_item(due, row + 1, last_offset)
            set_item(due, row + 2, latest)
            set_item(due, row + 3, offset_of_latest)
            dues += 1
            limit = position + interval
        expected = last_offset + 1
        position = after
    set_item(state, t.RUN_POSITION, position)
    set_item(state, t.RUN_EXPECTED, expected)
    set_item(state, t.RUN_LATEST, latest)
    set_item(state, t.RUN_OFFSET_OF_LATEST, offset_of_latest)
    return dues
