"""The result of the scalar reader for a buffer, compared with that of the bulk reader."""

from __future__ import annotations

from collections import deque
from operator import itemgetter
from typing import Any

from replica.errors import DataError
from replica.format.record import records_of
from replica.format.segment import scan
from replica.format.walk import LocatedBatch
from replica.metadata.log_record import UNREADABLE, LogRecordReader, may_hold_secret
from replica.metadata.redact import Redactor
from replica.metadata.variant import encode_variant
from replica.scan.arrow import BatchScan, RecordScan
from replica.scan.lines import LineScan, ScalarRecord

REDACTOR = Redactor(b"a key for tests")
_MAX_LONG = (1 << 63) - 1

Row = tuple[Any, ...]


def _long(number: int | None) -> int | None:
    return None if number is None or not -_MAX_LONG - 1 <= number <= _MAX_LONG else number


def scalar_records(
    data: bytes,
    start: int,
    expected: int | None,
    redactor: Redactor | None,
    *,
    as_json: bool = False,
) -> list[Row]:
    """Rows as pipelines.sources.rows makes them. as_json: whether the payload is Kafka's JSON."""
    reader = LogRecordReader(redactor)
    rows: list[Row] = []
    for batch in scan(data, start=start, expected_offset=expected).batches:
        header = batch.header
        if not batch.crc_valid:
            continue
        whole = memoryview(data)[batch.position - start :][: header.size_bytes]
        crc = _shown_crc(batch, data, start, redactor)
        place = (batch.position, header.base_offset, header.leader_epoch, crc)
        following = header.base_offset
        try:
            for record in records_of(header, whole):
                read = reader.read(record, is_control=header.is_control)
                payload: Any = None
                if read.message is not None and as_json:
                    payload = read.json_text()
                elif read.message is not None:
                    value, metadata = encode_variant(read.data)
                    payload = {"value": value, "metadata": metadata}
                rows.append(
                    (
                        *place,
                        _long(record.offset),
                        _long(record.timestamp),
                        header.is_control,
                        read.record_type,
                        read.version,
                        payload,
                        read.value,
                        read.error,
                    )
                )
                following = record.offset + 1
        except DataError as error:
            raw = reader.unreadable_value(bytes(whole))
            tail = (None, header.is_control, UNREADABLE, None, None, raw, str(error))
            rows.append((*place, _long(following), *tail))
    return rows


def _shown_crc(batch: LocatedBatch, data: bytes, start: int, redactor: Redactor | None) -> int:
    """The batch's own CRC, or the keyed CRC where the batch may hold a secret."""
    header = batch.header
    if redactor is None:
        return header.crc
    whole = memoryview(data)[batch.position - start :][: header.size_bytes]
    if batch.crc_valid and not may_hold_secret(header, whole):
        return header.crc
    return redactor.batch_crc(header.base_offset, header.crc)


def scalar_batches(
    data: bytes, start: int, expected: int | None, redactor: Redactor | None
) -> list[Row]:
    return [
        (
            batch.position,
            batch.header.base_offset,
            _long(batch.header.last_offset),
            batch.header.leader_epoch,
            _shown_crc(batch, data, start, redactor),
            batch.crc_valid,
            batch.header.is_control,
            batch.header.record_count,
            batch.header.size_bytes,
            batch.header.base_timestamp,
            batch.header.max_timestamp,
        )
        for batch in scan(data, start=start, expected_offset=expected).batches
    ]


def rows_of(tables: Any) -> list[Row]:
    rows: list[Row] = []
    for table in tables:
        table.validate(full=True)
        rows += zip(*(column.to_pylist() for column in table.columns), strict=True)
    return rows


def hold_equal(
    data: bytes,
    *,
    start: int = 0,
    expected: int | None = None,
    redactor: Redactor | None = None,
    with_lines: bool = True,
    buffer: Any = None,
) -> int:
    """Raises AssertionError unless both readers give the same. Gives the number of records.

    with_lines: whether lines of JSON are compared, too. buffer: the bulk reader's input, if not
    `data` itself.
    """
    given = data if buffer is None else buffer
    found = scan(data, start=start, expected_offset=expected)
    account = (found.damages, found.end_position, found.zero_tail)
    batches = BatchScan(given, start=start, expected_offset=expected, redactor=redactor)
    assert rows_of(batches) == scalar_batches(data, start, expected, redactor)
    assert (batches.damages, batches.end_position, batches.zero_tail) == account
    records = RecordScan(given, start=start, expected_offset=expected, redactor=redactor)
    wanted = scalar_records(data, start, expected, redactor)
    got = rows_of(records)
    for one, other in zip(got, wanted, strict=False):
        assert one == other
    assert len(got) == len(wanted)
    assert (records.damages, records.end_position, records.zero_tail) == account
    if with_lines:
        _hold_lines_equal(data, given, expected, redactor)
    return len(got)


def _hold_lines_equal(
    data: bytes, given: Any, expected: int | None, redactor: Redactor | None
) -> None:
    """Asserts that each line is the scalar reader's, and that the records and batches between them
    are the same."""
    found = LineScan(given, prefix=b"", expected_offset=expected, keep_secrets=redactor is None)
    wanted = deque(scalar_records(data, 0, expected, redactor, as_json=True))
    for piece in found:
        if isinstance(piece, memoryview):
            for line in bytes(piece).splitlines():
                assert line == _line(wanted.popleft())
        elif isinstance(piece, ScalarRecord):
            assert (piece.position, piece.record.offset) == itemgetter(0, 4)(wanted.popleft())
        else:
            while wanted and wanted[0][0] == piece.position:
                wanted.popleft()
    assert not wanted


def _line(row: Row) -> bytes:
    """The line that LineScan writes, without its prefix."""
    epoch, offset, timestamp, record_type, version, payload = itemgetter(2, 4, 5, 7, 8, 9)(row)
    head = f'{offset},"epoch":{epoch},"timestamp":{timestamp}'
    return f'{head},"type":"{record_type}","version":{version},"data":{payload}}}'.encode()
