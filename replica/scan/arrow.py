"""Batches and records of a segment or snapshot as Arrow, in the order of the file.

    reader = RecordScan(data, start=0, expected_offset=None, redactor=redactor)
    for batch in reader:         # pyarrow.RecordBatch of RECORD_SCHEMA
        ...
    reader.damages               # what could not be read, as replica.format.segment.scan reports it

Memory doesn't grow with the data: of a file there is a window in memory (replica.scan.window), and
at most a chunk's columns, payloads and values live at a time (see the limits of frames and of this
module), besides one small object for each damage.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from replica.format.byte_source import Source
from replica.format.compression import Inflation
from replica.format.segment import LocatedBatch
from replica.metadata.log_record import LogRecordReader
from replica.metadata.redact import Redactor
from replica.scan.columns import (
    BATCH_SCHEMA,
    RECORD_SCHEMA,
    batch_table,
    located_table,
    scalar_table,
)
from replica.scan.regions import Chunk, Scan
from replica.scan.scalar_rows import ScalarRow, batch_rows
from replica.scan.secret_batches import ShownRegions
from replica.scan.tables import CONFIG_PROGRAM, NO_PROGRAM

__all__ = [
    "BATCH_SCHEMA",
    "RECORD_SCHEMA",
    "BatchScan",
    "RecordScan",
    "scan_batches",
    "scan_records",
]

SCALAR_ROWS = 8192
"""Rows of the scalar reader in one Arrow batch, and the bytes of their payloads and values at which
the batch is closed earlier."""
SCALAR_BYTES = 32 * 1024 * 1024


def scan_records(
    data: Source,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    redactor: Redactor | None = None,
) -> Iterator[pa.RecordBatch]:
    """The records of each batch whose CRC is right; see RecordScan."""
    return iter(
        RecordScan(
            data,
            start=start,
            expected_offset=expected_offset,
            redactor=redactor,
        )
    )


def scan_batches(
    data: Source,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    redactor: Redactor | None = None,
) -> Iterator[pa.RecordBatch]:
    """The batches, whether or not their CRC is right; see BatchScan."""
    return iter(BatchScan(data, start=start, expected_offset=expected_offset, redactor=redactor))


class BatchScan(Scan):
    """Iterates once over Arrow batches of BATCH_SCHEMA: a row for each batch of the data.

    data: the bytes, of which the first is byte `start` of the file: a buffer, or an open file (see
    replica.format.byte_source for what may change meanwhile).
    expected_offset: base offset that the first batch must have, None where any will do.
    redactor: None keeps the CRCs of batches that hold secrets; see replica.scan.secret_batches.
    Nothing is raised for damaged bytes; UnreadableFileError where the file can't be read on.
    """

    def __init__(
        self,
        data: Source,
        *,
        start: int = 0,
        expected_offset: int | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        super().__init__(data, start, expected_offset)
        self._shown = ShownRegions(self._regions, redactor)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        located: list[LocatedBatch] = []
        for region in self._shown.read(with_records=False):
            if isinstance(region, LocatedBatch):
                located.append(region)
            if located and (isinstance(region, Chunk) or len(located) == SCALAR_ROWS):
                yield located_table(located)
                located = []
            if isinstance(region, Chunk):
                yield batch_table(region)
        if located:
            yield located_table(located)


class RecordScan(Scan):
    """Iterates once over Arrow batches of RECORD_SCHEMA: a row for each record, whose payload is
    Kafka's JSON as Spark's VARIANT.

    data, start, expected_offset: as of BatchScan. redactor: None keeps secrets.
    Nothing is raised for damaged bytes. Batches with a wrong CRC
    have no rows here (`damages` names them). A record that doesn't decode is a row of type
    UNREADABLE with `error`; so is what is left of a batch whose records' frames break off.
    """

    def __init__(
        self,
        data: Source,
        *,
        start: int = 0,
        expected_offset: int | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        super().__init__(data, start, expected_offset)
        self._shown = ShownRegions(self._regions, redactor)
        self._guarded = NO_PROGRAM if redactor is None else CONFIG_PROGRAM
        self._reader = LogRecordReader(redactor)
        self._inflation = Inflation(self.size)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        from replica.scan.rows import RowWriter  # compiles its kernels

        writer = RowWriter(self._reader, self._guarded)
        for region in self._shown.read(with_records=True):
            if isinstance(region, Chunk):
                yield from writer.tables(region)
            elif region.crc_valid:
                yield from self._by_scalar(region)

    def _by_scalar(self, batch: LocatedBatch) -> Iterator[pa.RecordBatch]:
        whole = self._shown.last_bytes()
        rows: list[ScalarRow] = []
        size = 0
        for row in batch_rows(batch.header, whole, self._reader, self._inflation):
            row_size = _size(row)
            if rows and (len(rows) == SCALAR_ROWS or size + row_size > SCALAR_BYTES):
                yield scalar_table(batch, rows)
                rows, size = [], 0
            rows.append(row)
            size += row_size
        if rows:
            yield scalar_table(batch, rows)


def _size(row: ScalarRow) -> int:
    return sum(map(len, row.payload or ())) + len(row.value or b"")
