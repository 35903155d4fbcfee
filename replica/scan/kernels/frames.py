"""The kernel of the first pass: it reads batch headers, checks CRCs, and finds the records.

It takes a batch if the whole batch is there, its magic is 2, its base offset is the expected
offset, and its CRC is valid. If records are wanted, the records must also be uncompressed, have no
headers, and have consistent lengths. At the first other batch the kernel stops with a code;
replica.scan.regions then decides how to continue. replica.format.batch has the layout of a header,
and replica.format.record the layout of a record.
"""

from __future__ import annotations

from replica.format.batch import CRC_START, LENGTH_PREFIX, MAGIC, MIN_BATCH_LENGTH
from replica.scan import frames
from replica.scan.kernels.checksum import crc32c
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import byte_at, item, load_i16, load_i32, load_i64, long, set_item
from replica.scan.kernels.varints import varint, varlong
from replica.scan.native import Bytes, Longs

_PREFIX_BYTES = LENGTH_PREFIX.size
_CODEC, _APPEND_TIME, _CONTROL = 0x07, 0x08, 0x20
_MAX_LONG = (1 << 63) - 1
_REFUSED = -1


@inner
def _is_in_place(source: Bytes, position: int, expected: int) -> bool:
    """Whether the header at `position` is valid, and has the expected base offset. The caller has
    checked that the bytes of the header exist. The caller later checks the end and the CRC of the
    batch."""
    last_delta: int = load_i32(source, position + 23)
    return (
        load_i64(source, position) == expected
        and load_i32(source, position + 8) >= MIN_BATCH_LENGTH
        and byte_at(source, position + 16) == MAGIC
        and 0 <= last_delta < _MAX_LONG - expected
    )


@inner
def _program_at(source: Bytes, position: int, size: int, program_of: Longs) -> int:
    """The program of a value, by the three bytes of its envelope. -1 if no program reads this type
    and version, if the envelope has another form, or if the value is too large."""
    if (
        not frames.ENVELOPE_BYTES <= size <= frames.LARGEST_VALUE_BYTES
        or byte_at(source, position) != 1
    ):
        return -1
    api_key = byte_at(source, position + 1)
    version = byte_at(source, position + 2)
    if api_key >= frames.KEYS or version >= frames.VERSIONS:
        return -1
    return item(program_of, api_key * frames.VERSIONS + version)


@inner
def _set_row(rows: Longs, column: int, row: int, number: int) -> None:
    set_item(rows, column * frames.ROWS + row, number)


@inner
def _set_batch(batches: Longs, column: int, batch: int, number: int) -> None:
    set_item(batches, column * frames.BATCHES + batch, number)


@inner
def _walk_records(
    source: Bytes, position: int, end: int, batch: int, row: int, program_of: Longs, rows: Longs
) -> int:
    """Fill the rows of the records in the batch at `position`. Returns the row behind the last of
    these rows; _REFUSED if the kernel can't read a record."""
    base_offset = load_i64(source, position)
    attributes = load_i16(source, position + 21)
    last_delta = load_i32(source, position + 23)
    base_time = load_i64(source, position + 27)
    max_time = load_i64(source, position + 35)
    count = load_i32(source, position + 57)
    at = position + frames.HEADER_BYTES
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
        _set_row(rows, frames.ROW_BATCH, row, batch)
        _set_row(rows, frames.ROW_OFFSET, row, base_offset + delta)
        _set_row(rows, frames.ROW_TIME, row, time)
        _set_row(rows, frames.ROW_KEY, row, key)
        _set_row(rows, frames.ROW_KEY_SIZE, row, max(key_size, -1))
        _set_row(rows, frames.ROW_VALUE, row, value)
        _set_row(rows, frames.ROW_VALUE_SIZE, row, max(value_size, -1))
        _set_row(rows, frames.ROW_PROGRAM, row, program)
        row += 1
    return row if at == end else _REFUSED


@inner
def _note_batch(source: Bytes, position: int, size: int, batch: int, batches: Longs) -> None:
    base_offset = load_i64(source, position)
    _set_batch(batches, frames.BATCH_POSITION, batch, position)
    _set_batch(batches, frames.BATCH_BASE_OFFSET, batch, base_offset)
    last_offset = base_offset + load_i32(source, position + 23)
    _set_batch(batches, frames.BATCH_LAST_OFFSET, batch, last_offset)
    _set_batch(batches, frames.BATCH_EPOCH, batch, load_i32(source, position + 12))
    _set_batch(batches, frames.BATCH_CRC, batch, load_i32(source, position + 17) & 0xFFFFFFFF)
    _set_batch(batches, frames.BATCH_ATTRIBUTES, batch, load_i16(source, position + 21))
    _set_batch(batches, frames.BATCH_COUNT, batch, load_i32(source, position + 57))
    _set_batch(batches, frames.BATCH_SIZE, batch, size)
    _set_batch(batches, frames.BATCH_BASE_TIME, batch, load_i64(source, position + 27))
    _set_batch(batches, frames.BATCH_MAX_TIME, batch, load_i64(source, position + 35))


@inner
def _is_plain(source: Bytes, position: int, size: int) -> bool:
    """Whether the batch has a form whose records the kernel can read."""
    count = load_i32(source, position + 57)
    is_compressed = load_i16(source, position + 21) & _CODEC
    return not is_compressed and 0 <= count <= frames.ROWS and size <= frames.LARGEST_BATCH_BYTES


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

    expected: the base offset that the next batch must have, 0 or more. with_records: 0 to fill only
    `batches`. program_of: the KEYS * VERSIONS numbers of tables.program_table. batches, rows:
    arrays of BATCH_COLUMNS * BATCHES and ROW_COLUMNS * ROWS items. state: an array that gets the
    STATE_ITEMS numbers of replica.scan.frames.
    """
    end = source.size
    begin = position
    batch = long(0)
    row = long(0)
    stop = frames.STOP_FULL
    size = 0
    while batch < frames.BATCHES and position - begin < frames.CHUNK_BYTES:
        size = frames.HEADER_BYTES
        if size <= end - position:
            if not _is_in_place(source, position, expected):
                stop = frames.STOP_FRAME
                break
            size = long(load_i32(source, position + 8)) + _PREFIX_BYTES
        if size > end - position:
            stop = frames.STOP_SHORT
            break
        plain = with_records == 0 or _is_plain(source, position, size)
        if with_records and plain and load_i32(source, position + 57) > frames.ROWS - row:
            break
        if crc32c(source, position + CRC_START, position + size) != (
            load_i32(source, position + 17) & 0xFFFFFFFF
        ):
            stop = frames.STOP_FRAME
            break
        if with_records:
            row_after = _REFUSED
            if plain:
                row_after = _walk_records(
                    source, position, position + size, batch, row, program_of, rows
                )
            if row_after == _REFUSED:
                stop = frames.STOP_RECORDS
                break
            row = row_after
        _note_batch(source, position, size, batch, batches)
        batch += 1
        expected += load_i32(source, position + 23) + 1
        position += size
    set_item(state, frames.STATE_POSITION, position)
    set_item(state, frames.STATE_EXPECTED, expected)
    set_item(state, frames.STATE_BATCHES, batch)
    set_item(state, frames.STATE_ROWS, row)
    set_item(state, frames.STATE_WANTED, size)
    return stop
