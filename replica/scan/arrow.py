"""Reads batches and records of a segment or snapshot as Arrow, in the order of the file.

    reader = RecordScan(data, start=0, expected_offset=None, redactor=redactor)
    for batch in reader:         # pyarrow.RecordBatch of RECORD_SCHEMA
        ...
    reader.damages               # what could not be read, as replica.format.segment.scan reports it

Memory doesn't grow with the data: only a window of the file (replica.scan.regions) and the columns,
payloads and values of one chunk are in memory at a time, besides one small object for each damaged
place. The limits are in `frames` and in this module.
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
"""The most rows of the scalar reader in one Arrow batch. The batch ends earlier when the payloads
and values of its rows have SCALAR_BYTES bytes."""
SCALAR_BYTES = 32 * 1024 * 1024


class BatchScan(ShownRegions):
    """Iterates once over Arrow batches of BATCH_SCHEMA: a row for each batch of the data, including
    batches with a wrong CRC.

    data, start, expected_offset, redactor: the arguments of ShownRegions. Raises
        UnreadableFileError if the file can no longer be read. Damaged bytes raise no error.
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

    The arguments and errors are those of BatchScan; without a redactor secrets are shown. Batches
    with a wrong CRC have no rows here (`damages` names them). A record that can't be decoded
    becomes a row of type UNREADABLE with the reason in `error`. If the reader can't find the ends
    of a batch's further records, one such row replaces all further records.
    """

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        from replica.scan.rows import RowWriter

        reader = LogRecordReader(self._redactor)
        inflation = Inflation(self.size)
        writer = RowWriter(reader, NO_PROGRAM if self._redactor is None else CONFIG_PROGRAM)
        held: list[tuple[LocatedBatch, ScalarRow]] = []
        size = 0
        for region in self.shown(with_records=True):
            if isinstance(region, Chunk):
                if held:
                    yield scalar_table(held)
                    held, size = [], 0
                yield from writer.tables(region)
            elif region.crc_valid:
                for row in batch_rows(region.header, self.last_bytes(), reader, inflation):
                    row_size = _size(row)
                    if held and (len(held) == SCALAR_ROWS or size + row_size > SCALAR_BYTES):
                        yield scalar_table(held)
                        held, size = [], 0
                    held.append((region, row))
                    size += row_size
        if held:
            yield scalar_table(held)


def _size(row: ScalarRow) -> int:
    return sum(map(len, row.payload or ())) + len(row.value or b"")
