"""Makes Arrow batches from the frame kernel's chunks. The scalar reader reads the rows that a
payload kernel refuses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from replica.format.batch import CONTROL_ATTRIBUTE
from replica.metadata.log_record import LogRecordReader
from replica.scan import frames, tables
from replica.scan.columns import RECORD_SCHEMA, VARIANT_TYPE, ColumnPieces, bitmap, row_error
from replica.scan.compiled import gather_values, write_variants
from replica.scan.native import Longs
from replica.scan.regions import Chunk
from replica.scan.scalar_rows import ScalarRow, record_row

PAYLOAD_BYTES = 24 * 1024 * 1024
"""The most bytes of payloads by kernels in one Arrow batch. A row that doesn't fit begins the next
batch. The scalar reader reads a record whose payload might be larger than this."""
_DICTIONARY_BYTES = 16 * 1024 * 1024

_TYPE_NAMES = np.array([program.schema.name for program in tables.KERNEL_PROGRAMS], object)
_VERSIONS = np.array([program.version for program in tables.KERNEL_PROGRAMS], np.int32)
_NAME_ARRAY = pa.array(list(_TYPE_NAMES), pa.string())


class RowWriter:
    """Makes Arrow batches from chunks. A RowWriter reuses the kernels' buffers for each chunk."""

    def __init__(self, reader: LogRecordReader, guarded: int) -> None:
        """guarded: the program whose records may hold secrets, which are redacted; NO_PROGRAM if
        secrets are shown."""
        self._reader = reader
        self._guarded = guarded
        self._outputs = np.empty(PAYLOAD_BYTES, np.uint8), np.empty(_DICTIONARY_BYTES, np.uint8)
        self._offsets = np.empty(frames.ROWS + 1, np.int64), np.empty(frames.ROWS + 1, np.int64)
        self._value_offsets: Longs = np.empty(frames.ROWS + 1, np.int64)
        self._refused: Longs = np.empty(frames.ROWS + 1, np.int64)
        self._scratch = (
            np.zeros(2 * tables.MAX_WIDTH, np.int64),
            np.zeros(tables.KNOWN * tables.KNOWN_COLUMNS, np.int64),
            np.zeros(tables.KNOWN * tables.DICTIONARY_ROOM, np.uint8),
        )

    def tables(self, chunk: Chunk) -> Iterator[pa.RecordBatch]:
        """The rows of a chunk as one Arrow batch, or as several if payloads are large."""
        low = 0
        while low < chunk.row_count:
            high = self._write(chunk, low)
            assert high > low, "a row that finds no room in an empty buffer is refused"
            yield self._table(chunk, low, high)
            low = high

    def _write(self, chunk: Chunk, low: int) -> int:
        """Write the payloads of the rows from `low` on into the kernel's buffers. Returns the row
        behind the last row that had room."""
        (values, dictionaries), (value_ends, dictionary_ends) = self._outputs, self._offsets
        return write_variants(
            chunk.array, chunk.rows.reshape(-1), low, chunk.row_count, self._guarded,
            values, value_ends, dictionaries, dictionary_ends, self._refused, *self._scratch,
        )  # fmt: skip

    def _table(self, chunk: Chunk, low: int, high: int) -> pa.RecordBatch:
        rows = chunk.rows[:, low:high]
        count = high - low
        in_batch = rows[frames.ROW_BATCH]
        program = rows[frames.ROW_PROGRAM]
        refused = self._refused[1 : 1 + self._refused[0]].tolist()
        scalar = [
            (k, record_row(chunk.record(low + k), chunk.is_control(low + k), self._reader))
            for k in refused
        ]
        attributes = chunk.batches[frames.BATCH_ATTRIBUTES][in_batch]
        types, versions = _types(program, scalar)
        arrays = [
            pa.array(chunk.batches[frames.BATCH_POSITION][in_batch] + chunk.start),
            pa.array(chunk.batches[frames.BATCH_BASE_OFFSET][in_batch]),
            pa.array(chunk.batches[frames.BATCH_EPOCH][in_batch].astype(np.int32)),
            pa.array(chunk.batches[frames.BATCH_CRC][in_batch]),
            pa.array(rows[frames.ROW_OFFSET].copy()),
            pa.array(rows[frames.ROW_TIME].copy()),
            pa.array((attributes & CONTROL_ATTRIBUTE) != 0),
            types,
            versions,
            self._payload_column(count, scalar),
            self._value_column(chunk, low, high, scalar),
            _error_column(count, scalar),
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=RECORD_SCHEMA)

    def _payload_column(self, count: int, scalar: list[tuple[int, ScalarRow]]) -> pa.Array:
        columns = [
            ColumnPieces(output, offsets[: count + 1])
            for output, offsets in zip(self._outputs, self._offsets, strict=True)
        ]
        present = np.ones(count, np.bool_)
        for k, row in scalar:
            if row.payload is None:
                present[k] = False
                continue
            for column, part in zip(columns, row.payload, strict=True):
                column.put(k, part)
        valid = bitmap(present)
        children = [column.array(pa.binary(), None) for column in columns]
        return pa.Array.from_buffers(VARIANT_TYPE, count, [valid], children=children)

    def _value_column(
        self, chunk: Chunk, low: int, high: int, scalar: list[tuple[int, ScalarRow]]
    ) -> pa.Array:
        count = high - low
        sizes = chunk.rows[frames.ROW_VALUE_SIZE, low:high].copy()
        hidden = [k for k, row in scalar]
        # The scalar reader's payloads are put in below.
        chunk.rows[frames.ROW_VALUE_SIZE, low:high][hidden] = -1
        room = int(np.maximum(sizes, 0).sum()) + tables.SLACK
        output = np.empty(room, np.uint8)
        offsets = self._value_offsets[: count + 1]
        rows = chunk.rows.reshape(-1)
        gather_values(chunk.array, rows, low, high, output, offsets)
        column = ColumnPieces(output, offsets)
        present = sizes >= 0
        for k, row in scalar:
            present[k] = row.value is not None
            if row.value is not None:
                column.put(k, row.value)
        return column.array(pa.binary(), bitmap(present))


def _types(program: Longs, scalar: list[tuple[int, ScalarRow]]) -> tuple[pa.Array, pa.Array]:
    """The columns record_type and record_version. program: the program of each row. scalar: the
    rows that the scalar reader read, with their numbers."""
    versions = _VERSIONS[program]
    if not scalar:
        return _NAME_ARRAY.take(pa.array(program.copy())), pa.array(versions)
    names = [row.record_type for _, row in scalar]
    extra = {name: len(_TYPE_NAMES) + i for i, name in enumerate(dict.fromkeys(names))}
    index = program.copy()
    index[[k for k, _ in scalar]] = [extra[name] for name in names]
    known = pa.concat_arrays([_NAME_ARRAY, pa.array(list(extra), pa.string())])
    missing = np.zeros(len(program), np.bool_)
    for k, row in scalar:
        missing[k] = row.record_version is None
        versions[k] = row.record_version or 0
    return known.take(pa.array(index)), pa.array(versions, mask=missing)


def _error_column(count: int, scalar: list[tuple[int, ScalarRow]]) -> pa.Array:
    cells: list[str | None] = [None] * count
    for k, row in scalar:
        cells[k] = row_error(row)
    return pa.array(cells, pa.string()) if any(cells) else pa.nulls(count, pa.string())
