"""Rows of batches and records from the bytes of one range, as Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from pipelines.sources.columns import record_batch
from pipelines.sources.ranges import RangePartition
from replica.errors import DataError
from replica.format.batch import BatchHeader
from replica.format.record import records_of
from replica.format.segment import LocatedBatch, scan
from replica.metadata.log_record import UNREADABLE, LogRecordReader
from replica.metadata.redact import Redactor

ROWS_PER_BATCH = 8192

_Columns = Sequence[tuple[str, str]]


class RowReader:
    """Reads the ranges of one task; key: for fingerprints of secrets, None to keep them."""

    def __init__(self, key: bytes | None) -> None:
        self._reader = LogRecordReader(None if key is None else Redactor(key))

    def batches(self, data: bytes, part: RangePartition, columns: _Columns) -> Iterator[Any]:
        """A row for each batch, whether or not its CRC is right."""
        found = scan(data, start=part.start, expected_offset=part.expected_offset)
        yield from _chunks((_batch_row(part.shown, batch) for batch in found.batches), columns)

    def records(self, data: bytes, part: RangePartition, columns: _Columns) -> Iterator[Any]:
        """A row for each record of each batch whose CRC is right."""
        yield from _chunks(self._record_rows(data, part, _log_key), columns)

    def snapshot_records(
        self,
        data: bytes,
        part: RangePartition,
        snapshot_id: tuple[int | None, int | None],
        columns: _Columns,
    ) -> Iterator[Any]:
        """The same of a snapshot, keyed by (end offset, epoch)."""
        yield from _chunks(self._record_rows(data, part, lambda header: snapshot_id), columns)

    def _record_rows(
        self, data: bytes, part: RangePartition, key: Any
    ) -> Iterator[tuple[Any, ...]]:
        found = scan(data, start=part.start, expected_offset=part.expected_offset)
        view = memoryview(data)
        for batch in found.batches:
            if not batch.crc_valid:
                continue
            start = batch.position - part.start
            whole = view[start : start + batch.header.size_bytes]
            place = (part.shown, batch.position, *key(batch.header))
            yield from self._rows_of(batch.header, whole, place)

    def _rows_of(
        self, header: BatchHeader, whole: memoryview, place: tuple[Any, ...]
    ) -> Iterator[tuple[Any, ...]]:
        next_offset = header.base_offset
        try:
            for record in records_of(header, whole):
                read = self._reader.read(record, is_control=header.is_control)
                yield (
                    *place,
                    record.offset,
                    record.timestamp,
                    header.is_control,
                    read.record_type,
                    read.version,
                    read.data,
                    read.value,
                    read.error,
                )
                next_offset = record.offset + 1
        except DataError as error:
            # the frame around the records is wrong, so those after this one can't be told apart
            raw = self._reader.unreadable_value(bytes(whole))
            yield (
                *place,
                next_offset,
                None,
                header.is_control,
                UNREADABLE,
                None,
                None,
                raw,
                str(error),
            )


def _log_key(header: BatchHeader) -> tuple[int, int, int]:
    return header.base_offset, header.leader_epoch, header.crc


def _batch_row(shown: str, batch: LocatedBatch) -> tuple[Any, ...]:
    header = batch.header
    return (
        shown,
        batch.position,
        header.base_offset,
        header.last_offset,
        header.leader_epoch,
        header.crc,
        batch.crc_valid,
        header.is_control,
        header.record_count,
        header.size_bytes,
        header.base_timestamp,
        header.max_timestamp,
    )


def _chunks(rows: Iterator[tuple[Any, ...]], columns: _Columns) -> Iterator[Any]:
    while chunk := list(islice(rows, ROWS_PER_BATCH)):
        yield record_batch(columns, chunk)
