"""The kernel of the first pass: batch headers, CRC-32C and where the records lie.

It takes whole batches of magic 2 that are in their place (base offset as expected), carry a right
CRC and, where records are wanted, hold uncompressed records without headers whose lengths add up.
At the first other batch it stops and says why; see replica.scan.regions for what happens then.
Offsets of header fields: replica.format.batch; of record fields: replica.format.record.
"""

from __future__ import annotations

from replica.format.batch import CRC_START, LENGTH_PREFIX, MAGIC, MIN_BATCH_LENGTH
from replica.scan.frames import (
    BATCH_ATTRIBUTES,
    BATCH_BASE_OFFSET,
    BATCH_BASE_TIME,
    BATCH_COUNT,
    BATCH_CRC,
    BATCH_EPOCH,
    BATCH_LAST_OFFSET,
    BATCH_MAX_TIME,
    BATCH_POSITION,
    BATCH_SIZE,
    BATCHES,
    CHUNK_BYTES,
    ENVELOPE_BYTES,
    HEADER_BYTES,
    KEYS,
    LARGEST_BATCH_BYTES,
    LARGEST_VALUE_BYTES,
    ROW_BATCH,
    ROW_KEY,
    ROW_KEY_SIZE,
    ROW_OFFSET,
    ROW_PROGRAM,
    ROW_TIME,
    ROW_VALUE,
    ROW_VALUE_SIZE,
    ROWS,
    STATE_BATCHES,
    STATE_EXPECTED,
    STATE_POSITION,
    STATE_ROWS,
    STATE_WANTED,
    STOP_FRAME,
    STOP_FULL,
    STOP_RECORDS,
    STOP_SHORT,
    VERSIONS,
)
from replica.scan.kernels.checksum import crc32c
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import byte_at, item, load_i16, load_i32, load_i64, long, set_item
from replica.scan.kernels.varints import varint, varlong
from replica.scan.native import Bytes, Longs

PREFIX_BYTES = LENGTH_PREFIX.size

_CODEC, _APPEND_TIME, _CONTROL = 0x07, 0x08, 0x20
_MAX_LONG = (1 << 63) - 1
_REFUSED = -1


@inner
def _size_in_place(source: Bytes, position: int, end: int, expected: int) -> int:
    """The bytes of the batch with the expected base offset that starts here, or _REFUSED.

    It looks at neither the batch's end nor its CRC. HEADER_BYTES for a header that is cut off.
    """
    if end - position < HEADER_BYTES:
        return HEADER_BYTES
    length: int = load_i32(source, position + 8)
    last_delta = load_i32(source, position + 23)
    if (
        load_i64(source, position) == expected
        and length >= MIN_BATCH_LENGTH
        and byte_at(source, position + 16) == MAGIC
        and last_delta >= 0
        and expected < _MAX_LONG - last_delta
    ):
        return length + PREFIX_BYTES
    return _REFUSED


@inner
def _program_at(source: Bytes, position: int, size: int, program_of: Longs) -> int:
    """The program of a value, by the three bytes of its envelope. -1 for an unknown, odd or large
    value."""
    if not ENVELOPE_BYTES <= size <= LARGEST_VALUE_BYTES or byte_at(source, position) != 1:
        return -1
    api_key = byte_at(source, position + 1)
    version = byte_at(source, position + 2)
    if api_key >= KEYS or version >= VERSIONS:
        return -1
    program: int = item(program_of, api_key * VERSIONS + version)
    return program


@inner
def _walk_records(
    source: Bytes, position: int, end: int, batch: int, row: int, program_of: Longs, rows: Longs
) -> int:
    """Fill rows for the records of the batch at `position`. Returns the row behind them, or
    _REFUSED."""
    base_offset = load_i64(source, position)
    attributes = load_i16(source, position + 21)
    last_delta = load_i32(source, position + 23)
    base_time = load_i64(source, position + 27)
    max_time = load_i64(source, position + 35)
    count = load_i32(source, position + 57)
    at = position + HEADER_BYTES
    before = -1
    for _ in range(count):
        size, start = varint(source, at, end)
        if size < 1 or start + size > end:
            return _REFUSED
        stop = start + size
        time_delta, at = varlong(source, start + 1, stop)
        delta, at = varint(source, at, stop)
        if delta <= before or delta > last_delta:
            return _REFUSED
        before = delta
        key_size, key = varint(source, at, stop)
        value_size, value = varint(source, key + max(key_size, 0), stop)
        headers, at = varint(source, value + max(value_size, 0), stop)
        if headers != 0 or at != stop:
            return _REFUSED
        time = base_time + time_delta
        if ((base_time ^ time) & (time_delta ^ time)) < 0:  # The time exceeds 64 bits.
            return _REFUSED
        if attributes & _APPEND_TIME:
            time = max_time
        program = -1
        if not attributes & _CONTROL:
            program = _program_at(source, value, value_size, program_of)
        set_item(rows, ROW_BATCH * ROWS + row, batch)
        set_item(rows, ROW_OFFSET * ROWS + row, base_offset + delta)
        set_item(rows, ROW_TIME * ROWS + row, time)
        set_item(rows, ROW_KEY * ROWS + row, key)
        set_item(rows, ROW_KEY_SIZE * ROWS + row, max(key_size, -1))
        set_item(rows, ROW_VALUE * ROWS + row, value)
        set_item(rows, ROW_VALUE_SIZE * ROWS + row, max(value_size, -1))
        set_item(rows, ROW_PROGRAM * ROWS + row, program)
        row += 1
    return row if at == end else _REFUSED


@inner
def _note_batch(source: Bytes, position: int, size: int, batch: int, batches: Longs) -> None:
    base_offset = load_i64(source, position)
    set_item(batches, BATCH_POSITION * BATCHES + batch, position)
    set_item(batches, BATCH_BASE_OFFSET * BATCHES + batch, base_offset)
    last_offset = base_offset + load_i32(source, position + 23)
    set_item(batches, BATCH_LAST_OFFSET * BATCHES + batch, last_offset)
    set_item(batches, BATCH_EPOCH * BATCHES + batch, load_i32(source, position + 12))
    set_item(batches, BATCH_CRC * BATCHES + batch, load_i32(source, position + 17) & 0xFFFFFFFF)
    set_item(batches, BATCH_ATTRIBUTES * BATCHES + batch, load_i16(source, position + 21))
    set_item(batches, BATCH_COUNT * BATCHES + batch, load_i32(source, position + 57))
    set_item(batches, BATCH_SIZE * BATCHES + batch, size)
    set_item(batches, BATCH_BASE_TIME * BATCHES + batch, load_i64(source, position + 27))
    set_item(batches, BATCH_MAX_TIME * BATCHES + batch, load_i64(source, position + 35))


@inner
def _is_plain(source: Bytes, position: int, size: int) -> bool:
    """Whether the kernel can walk the batch's records at all."""
    count = load_i32(source, position + 57)
    is_compressed = load_i16(source, position + 21) & _CODEC
    return not is_compressed and 0 <= count <= ROWS and size <= LARGEST_BATCH_BYTES


def walk_frames(
    source: Bytes,
    position: int,
    expected: int,
    with_records: int,
    program_of: Longs,
    batches: Longs,
    rows: Longs,
    state: Longs,
) -> int:
    """Fill `batches` and `rows` from byte `position` on. Returns the STOP code.

    expected: the base offset of the next batch, 0 or more. with_records: 0 leaves `rows` alone.
    program_of: KEYS * VERSIONS programs. batches, rows: BATCH_COLUMNS * BATCHES and ROW_COLUMNS *
    ROWS items. state: STATE_ITEMS; gets the position and expected offset of the batch at which it
    stopped.
    """
    end = source.size
    begin = position
    batch = long(0)
    row = long(0)
    stop = STOP_FULL
    size = 0
    while batch < BATCHES and position - begin < CHUNK_BYTES:
        size = _size_in_place(source, position, end, expected)
        if size > end - position:
            stop = STOP_SHORT
            break
        if size == _REFUSED:
            stop = STOP_FRAME
            break
        plain = with_records == 0 or _is_plain(source, position, size)
        if with_records and plain and load_i32(source, position + 57) > ROWS - row:
            break
        if crc32c(source, position + CRC_START, position + size) != (
            load_i32(source, position + 17) & 0xFFFFFFFF
        ):
            stop = STOP_FRAME
            break
        if with_records:
            row_after = _REFUSED
            if plain:
                row_after = _walk_records(
                    source, position, position + size, batch, row, program_of, rows
                )
            if row_after == _REFUSED:
                stop = STOP_RECORDS
                break
            row = row_after
        _note_batch(source, position, size, batch, batches)
        batch += 1
        expected += load_i32(source, position + 23) + 1
        position += size
    set_item(state, STATE_POSITION, position)
    set_item(state, STATE_EXPECTED, expected)
    set_item(state, STATE_BATCHES, batch)
    set_item(state, STATE_ROWS, row)
    set_item(state, STATE_WANTED, size)
    return stop
