"""Makes rows by the scalar reader, for records that the kernels refuse. The tests compare the
kernels with the scalar reader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from replica.errors import DataError
from replica.format.batch import BatchHeader
from replica.format.compression import Inflation
from replica.format.record import Record, records_of
from replica.metadata.log_record import UNREADABLE, LogRecordReader
from replica.metadata.variant import encode_variant

Payload: TypeAlias = "tuple[bytes, bytes] | None"
"""(value, metadata) of a VARIANT; None if the record can't be decoded."""


@dataclass(frozen=True, slots=True)
class ScalarRow:
    """One row of RecordScan, without the columns about its batch."""

    offset: int
    timestamp: int | None
    """The timestamp of the record, in ms since 1970 (UTC); None in the row that stands for records
    whose ends can't be found."""
    record_type: str
    record_version: int | None
    payload: Payload
    value: bytes | None
    error: str | None


def batch_rows(
    header: BatchHeader,
    whole: memoryview,
    reader: LogRecordReader,
    inflation: Inflation,
) -> Iterator[ScalarRow]:
    """A row for each record of one batch with a valid CRC. inflation: the limit of decompression
    for the batch's file.

    If the ends of further records can't be found, a last row of type UNREADABLE has the reason. Its
    value is the part of the batch that may be shown.
    """
    next_offset = header.base_offset
    try:
        for record in records_of(header, whole, inflation):
            yield record_row(record, header.is_control, reader)
            next_offset = record.offset + 1
    except DataError as error:
        raw = reader.unreadable_value(bytes(whole))
        yield ScalarRow(next_offset, None, UNREADABLE, None, None, raw, str(error))


def record_row(record: Record, is_control: bool, reader: LogRecordReader) -> ScalarRow:
    """The row of one record."""
    read = reader.read(record, is_control=is_control)
    return ScalarRow(
        record.offset,
        record.timestamp,
        read.record_type,
        read.version,
        None if read.message is None else encode_variant(read.data),
        read.value,
        read.error,
    )
