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

from replica.format.compression import Inflation
from replica.format.walk import LocatedBatch
from replica.metadata.log_record import LogRecordReader
from replica.scan.columns import batch_table, located_table, scalar_table
from replica.scan.regions import Chunk
from replica.scan.scalar_rows import ScalarRow, batch_rows
from replica.scan.secret_batches import ShownRegions
from replica.scan.tables import CONFIG_PROGRAM, NO_PROGRAM

SCALAR_ROWS = 8192
"""Rows of the scalar reader in one Arrow batch, and the bytes of their payloads and values at which
the batch is closed earlier."""
SCALAR_BYTES = 32 * 1024 * 1024


class BatchScan(ShownRegions):
    """Iterates once over Arrow batches of BATCH_SCHEMA: a row for each batch of the data, whether
    or not its CRC is right.

    data, start, expected_offset, redactor: see ShownRegions.
    Raises UnreadableFileError where the file can't be read on, and nothing for damaged bytes.
    """

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        located: list[LocatedBatch] = []
        for region in self.shown(with_records=False):
            if isinstance(region, LocatedBatch):
                located.append(region)
            if located and (isinstance(region, Chunk) or len(located) == SCALAR_ROWS):
                yield located_table(located)
                located = []
            if isinstance(region, Chunk):
                yield batch_table(region)
        if located:
            yield located_table(located)


class RecordScan(ShownRegions):
    """Iterates once over Arrow batches of RECORD_SCHEMA: a row for each record, whose payload is
    Kafka's JSON as Spark's VARIANT.

    Takes and raises what BatchScan does; without a redactor secrets are shown. Batches with a wrong
    CRC have no rows here (`damages` names them). A record that doesn't decode is a row of type
    UNREADABLE with `error`. Where the records of a batch can't be told apart any more, one such row
    stands for the rest of them.
    """

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        from replica.scan.rows import RowWriter  # compiles its kernels

        reader = LogRecordReader(self._redactor)
        inflation = Inflation(self.size)
        writer = RowWriter(reader, NO_PROGRAM if self._redactor is None else CONFIG_PROGRAM)
        for region in self.shown(with_records=True):
            if isinstance(region, Chunk):
                yield from writer.tables(region)
            elif region.crc_valid:
                whole = self.last_bytes()
                yield from _tables(region, batch_rows(region.header, whole, reader, inflation))


def _tables(batch: LocatedBatch, read: Iterator[ScalarRow]) -> Iterator[pa.RecordBatch]:
    """Arrow batches of the rows that the scalar reader reads from one batch of the log."""
    rows: list[ScalarRow] = []
    size = 0
    for row in read:
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
