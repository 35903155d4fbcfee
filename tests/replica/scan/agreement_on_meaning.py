"""The results of both readers for a buffer's records besides rows: lines, odd records, and the
replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobs.cli.record_lines import record_line
from replica.errors import DataError
from replica.format.batch import BatchHeader
from replica.format.byte_source import byte_source
from replica.format.record import Record, records_of
from replica.format.segment import scan
from replica.format.walk import LocatedBatch
from replica.metadata.image.replay import Refusal, Replay, meaning
from replica.metadata.log_record import LogRecordReader
from replica.metadata.redact import Redactor
from replica.scan.bulk_replay import BulkReplay
from replica.scan.lines import LineScan
from replica.scan.regions import Chunk, Regions
from replica.scan.segments import odd_records
from replica.scan.tables import program_table
from replica.terminal_text import safe_json


def hold_meaning_equal(
    data: bytes, *, expected: int | None, redactor: Redactor | None, buffer: Any = None
) -> None:
    """Raises AssertionError unless both readers agree on lines of JSON, on which records don't
    decode, and on what the records add up to. buffer: the bulk reader's input, if not `data`
    itself."""
    given = data if buffer is None else buffer
    hold_lines_equal(data, given, expected, redactor)
    odd = set(odd_records(given, expected_offset=expected))
    assert all(odd & of_it for of_it in _to_look_at(data, expected))
    hold_replays_equal(data, given, expected)


def hold_lines_equal(
    data: bytes, given: Any, expected: int | None, redactor: Redactor | None
) -> None:
    reader = LogRecordReader(redactor)
    found = LineScan(given, prefix=b"", expected_offset=expected, keep_secrets=redactor is None)
    lines: list[str] = []
    for piece in found:
        if isinstance(piece, memoryview):
            lines += [f"{line}\n" for line in bytes(piece).decode().split("\n")[:-1]]
        elif isinstance(piece, LocatedBatch):
            lines += _lines(piece.header, found.bytes_of(piece), reader)
        else:
            lines += _line(piece.record, piece.leader_epoch, piece.is_control, reader)
    wanted: list[str] = []
    for header, whole in _believed(data, expected):
        wanted += _lines(header, whole, reader)
    for one, other in zip(lines, wanted, strict=False):
        assert one == other
    assert len(lines) == len(wanted)
    assert found.damages == scan(data, expected_offset=expected).damages


def hold_replays_equal(data: bytes, given: Any, expected: int | None) -> int:
    """Asserts that the replays of both readers are equal. Both leave out each record without a
    meaning. Gives the number of refusals."""
    scalar, bulk = Replay(), BulkReplay()
    refusals: list[Refusal] = []
    refused = 0
    first: Refusal | None = None
    source = byte_source(given)
    regions = Regions(source, 0, expected)
    for region in regions.read(program_table(keep_secrets=True)):
        if isinstance(region, Chunk):
            refusals += _by_scalar(scalar, region)
            row = 0
            while row < region.row_count:
                taken = bulk.take(region, source, row, region.row_count, explain=first is None)
                refused += taken.refused
                first = first or (taken.first and taken.first[1])
                row = taken.row + 1  # where it stopped stands a record without a meaning
        elif region.crc_valid:
            whole = memoryview(data)[region.position :][: region.header.size_bytes]
            for record, message in _meanings(region.header, whole):
                one, other = (
                    scalar.apply(record.offset, message),
                    bulk.apply(record.offset, message),
                )
                assert one == other
                if one is not None:
                    refusals.append(one)
                    refused += 1
                    first = first or one
    assert refused == len(refusals)
    assert first == (refusals[0] if refusals else None)
    assert bulk.image() == scalar.image()
    return refused


def _by_scalar(replay: Replay, chunk: Chunk) -> Iterator[Refusal]:
    for row in range(chunk.row_count):
        record = chunk.record(row)
        try:
            message = meaning(record, is_control=chunk.is_control(row))
        except DataError:
            continue
        refusal = replay.apply(record.offset, message)
        if refusal is not None:
            yield refusal


def _meanings(header: BatchHeader, whole: memoryview) -> Iterator[tuple[Record, Any]]:
    try:
        for record in records_of(header, whole):
            try:
                yield record, meaning(record, is_control=header.is_control)
            except DataError:
                continue
    except DataError:
        return


def _believed(data: bytes, expected: int | None) -> Iterator[tuple[BatchHeader, memoryview]]:
    for batch in scan(data, expected_offset=expected).batches:
        if batch.crc_valid:
            whole = memoryview(data)[batch.position :][: batch.header.size_bytes]
            yield batch.header, whole


def _lines(header: BatchHeader, whole: memoryview, reader: LogRecordReader) -> Iterator[str]:
    try:
        for record in records_of(header, whole):
            yield from _line(record, header.leader_epoch, header.is_control, reader)
    except DataError:
        return


def _line(record: Record, epoch: int, is_control: bool, reader: LogRecordReader) -> Iterator[str]:
    """The line of dump --json. A record that doesn't decode has no line. Control characters are
    escaped later in the lines of both."""
    read = reader.read(record, is_control=is_control)
    if read.error is None:
        data = read.json_text()
        yield record_line(record, epoch, read, "").replace(safe_json(data), data)


def _to_look_at(data: bytes, expected: int | None) -> Iterator[set[int]]:
    """For each record that doesn't decode, its offset and its batch's base offset. One of the two
    must be named: the base offset where the kernels skip a batch."""
    reader = LogRecordReader(None)
    for header, whole in _believed(data, expected):
        bad = []
        try:
            for record in records_of(header, whole):
                if reader.read(record, is_control=header.is_control).error is not None:
                    bad.append(record.offset)
        except DataError:
            yield {header.base_offset}
        yield from ({header.base_offset, offset} for offset in bad)
