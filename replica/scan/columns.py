"""The Arrow schemas of the bulk reader, and functions that make its columns from the rows of either
reader.

The columns are the same as in the tables log_records and log_batches. `position` is the first byte
of the batch in its file. Times are int64 ms since 1970 (UTC), as in Kafka; -1 means no time. A
number is NULL if the row isn't a record, or if the number exceeds 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from replica.format.batch import CONTROL_ATTRIBUTE
from replica.format.segment import numbers_of
from replica.format.timestamps import FIRST_MS, LAST_MS, NO_TIMESTAMP
from replica.format.walk import LocatedBatch
from replica.scan import frames
from replica.scan.native import Bytes, Longs
from replica.scan.regions import Chunk
from replica.scan.scalar_rows import Payload, ScalarRow

VARIANT_TYPE = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
"""A type that Spark reads as VARIANT without conversion."""

BATCH_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("crc", pa.int64()),
        ("crc_valid", pa.bool_()),
        ("is_control", pa.bool_()),
        ("record_count", pa.int32()),
        ("size_bytes", pa.int64()),
        ("base_timestamp", pa.int64()),
        ("max_timestamp", pa.int64()),
    ]
)


RECORD_SCHEMA = pa.schema(
    [
        ("position", pa.int64()),
        ("base_offset", pa.int64()),
        ("leader_epoch", pa.int32()),
        ("crc", pa.int64()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("is_control", pa.bool_()),
        ("record_type", pa.string()),
        ("record_version", pa.int32()),
        ("payload", VARIANT_TYPE),
        ("value", pa.binary()),
        ("error", pa.string()),
    ]
)

MAX_CELL_BYTES = 1 << 30
"""The most bytes of a payload or value. A larger cell is NULL, with the reason in `error`: Arrow's
offsets end at 2 GiB."""
TOO_LARGE = f"a cell of more than {MAX_CELL_BYTES} bytes"

_MAX_LONG = (1 << 63) - 1


def microseconds(timestamps: pa.Array) -> pa.Array:
    """Times in ms as timestamp[us, UTC]; NULL for a time for which replica.format.timestamps.moment
    gives None."""
    numbers = timestamps.fill_null(NO_TIMESTAMP).to_numpy(zero_copy_only=False)
    missing = (numbers == NO_TIMESTAMP) | (numbers < FIRST_MS) | (numbers > LAST_MS)
    scaled = np.where(missing, 0, numbers) * 1000
    return pa.array(scaled, mask=missing).cast(pa.timestamp("us", tz="UTC"))


def batch_table(chunk: Chunk) -> pa.RecordBatch:
    """The Arrow batch with a row for each log batch of a chunk. The CRCs of these log batches are
    valid."""
    columns = chunk.batches[:, : chunk.batch_count]
    arrays = [
        pa.array(columns[frames.BATCH_POSITION] + chunk.start),
        pa.array(columns[frames.BATCH_BASE_OFFSET].copy()),
        pa.array(columns[frames.BATCH_LAST_OFFSET].copy()),
        pa.array(columns[frames.BATCH_EPOCH].astype(np.int32)),
        pa.array(columns[frames.BATCH_CRC].copy()),
        pa.array(np.ones(chunk.batch_count, np.bool_)),
        pa.array((columns[frames.BATCH_ATTRIBUTES] & CONTROL_ATTRIBUTE) != 0),
        pa.array(columns[frames.BATCH_COUNT].astype(np.int32)),
        pa.array(columns[frames.BATCH_SIZE].copy()),
        pa.array(columns[frames.BATCH_BASE_TIME].copy()),
        pa.array(columns[frames.BATCH_MAX_TIME].copy()),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=BATCH_SCHEMA)


def located_table(batches: Sequence[LocatedBatch]) -> pa.RecordBatch:
    """The Arrow batch of log batches that the scalar reader found."""
    rows = numbers_of(batches, *BATCH_SCHEMA.names)
    return _table(BATCH_SCHEMA, [[*map(_long, cells)] for cells in zip(*rows, strict=True)])


def scalar_table(read: Sequence[tuple[LocatedBatch, ScalarRow]]) -> pa.RecordBatch:
    """The Arrow batch of rows that the scalar reader read, each with its log batch."""
    headers = [batch.header for batch, _ in read]
    rows = [row for _, row in read]
    columns: list[Sequence[Any]] = [
        [batch.position for batch, _ in read],
        [header.base_offset for header in headers],
        [header.leader_epoch for header in headers],
        [header.crc for header in headers],
        [_long(row.offset) for row in rows],
        [_long(row.timestamp) for row in rows],
        [header.is_control for header in headers],
        [row.record_type for row in rows],
        [row.record_version for row in rows],
        [_payload_cell(row.payload) for row in rows],
        [row.value if _fits(row.value) else None for row in rows],
        [row_error(row) for row in rows],
    ]
    return _table(RECORD_SCHEMA, columns)


def row_error(row: ScalarRow) -> str | None:
    """The reason why the row has no payload or no value: the reader's error, or a cell that is too
    large. None if both fit and the reader reported no error."""
    return row.error if _fits(row.payload) and _fits(row.value) else TOO_LARGE


def _table(schema: pa.Schema, columns: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    arrays = [pa.array(cells, field.type) for cells, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _long(number: int | None) -> int | None:
    """The number; None for an offset or time that exceeds 64 bits, which is possible in a hostile
    batch whose base offset is just below this limit."""
    return None if number is None or not -_MAX_LONG - 1 <= number <= _MAX_LONG else number


def _fits(cell: Payload | bytes) -> bool:
    parts = cell if isinstance(cell, tuple) else (cell or b"",)
    return sum(map(len, parts)) <= MAX_CELL_BYTES


def _payload_cell(payload: Payload) -> Any:
    if payload is None or not _fits(payload):
        return None
    return dict(zip(("value", "metadata"), payload, strict=True))


class ColumnPieces:
    """A column of texts or bytes while it is made, from the bytes of a kernel and from inserted
    cells.

    data, offsets: the kernel's bytes, and the places of the column's rows in `data`. A row with an
        inserted cell has no bytes in `data`.
    """

    def __init__(self, data: Bytes, offsets: Longs) -> None:
        self._data = data
        self._offsets = offsets
        self._rows: list[int] = []
        self._cells: list[bytes] = []

    def put(self, row: int, cell: bytes) -> None:
        """Insert a cell. Rows must come in rising order."""
        self._rows.append(row)
        self._cells.append(cell)

    def array(self, kind: pa.DataType, valid: pa.Buffer | None) -> pa.Array:
        """The finished column. valid: the bitmap of the rows that aren't NULL; None for a column
        without NULLs."""
        sizes = np.diff(self._offsets)
        for row, cell in zip(self._rows, self._cells, strict=True):
            sizes[row] += len(cell)
        offsets = np.zeros(len(self._offsets), np.int32)
        np.cumsum(sizes, out=offsets[1:])
        whole = pa.allocate_buffer(int(offsets[-1]))
        self._fill(np.frombuffer(whole, np.uint8), offsets)
        return pa.Array.from_buffers(kind, len(sizes), [valid, pa.py_buffer(offsets), whole])

    def _fill(self, target: Bytes, offsets: npt.NDArray[np.int32]) -> None:
        # numpy copies without the interpreter's lock
        done = before = 0
        for row, cell in zip(self._rows, self._cells, strict=True):
            at = int(offsets[row])
            here = int(self._offsets[row])
            target[done:at] = self._data[before:here]
            target[at : at + len(cell)] = np.frombuffer(cell, np.uint8)
            done, before = at + len(cell), here
        target[done:] = self._data[before : int(self._offsets[-1])]


def stored_bytes(column: pa.BinaryArray) -> tuple[Bytes, Longs]:
    """(the bytes of all rows together, the position of each row's beginning and of the last row's
    end)."""
    _, offsets, data = column.buffers()
    first, count = column.offset, len(column)
    if offsets is None or count == 0:
        return np.empty(0, np.uint8), np.zeros(count + 1, np.int64)
    where = np.frombuffer(offsets, np.int32)[first : first + count + 1]
    held = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return held, where.astype(np.int64)


def bitmap(valid: Any) -> pa.Buffer | None:
    """Arrow's validity bitmap of an array of bools; None if all bools are true."""
    if valid.all():
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
