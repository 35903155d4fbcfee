"""The bulk reader's Arrow batches, with the columns of the sources."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from pipelines.sources.ranges import RangePartition
from replica.format.byte_source import Source
from replica.metadata.redact import Redactor
from replica.scan.arrow import BatchScan, RecordScan
from replica.scan.columns import microseconds

_Cells = dict[str, pa.Array]
_TIMES = ("timestamp", "base_timestamp", "max_timestamp")


def batches(
    data: Source, part: RangePartition, redactor: Redactor | None, names: Collection[str]
) -> Iterator[Any]:
    """A row for each batch of a range, whether or not its CRC is right. names: the wanted columns.
    redactor: None keeps the CRCs of batches that may hold secrets."""
    start, expected = part.start, part.expected_offset
    for table in BatchScan(data, start=start, expected_offset=expected, redactor=redactor):
        yield _batch(_cells(table, part), names)


def records(
    data: Source, part: RangePartition, redactor: Redactor | None, names: Collection[str]
) -> Iterator[Any]:
    """A row for each record of each batch whose CRC is right. names: the wanted columns. redactor:
    None keeps secrets."""
    for table in _scanned(data, part, redactor):
        yield _batch(_cells(table, part), names)


def snapshot_records(
    data: Source,
    part: RangePartition,
    redactor: Redactor | None,
    snapshot_id: tuple[int | None, int | None],
    names: Collection[str],
) -> Iterator[Any]:
    """A row for each record of a snapshot, whose index is the record's offset. snapshot_id: end
    offset and epoch. names, redactor: as in `records`."""
    end_offset, epoch = snapshot_id
    for table in _scanned(data, part, redactor):
        cells = _cells(table, part)
        cells["index"] = cells["offset"]
        cells["end_offset"] = _constant(end_offset, pa.int64(), table.num_rows)
        cells["epoch"] = _constant(epoch, pa.int32(), table.num_rows)
        yield _batch(cells, names)


def _scanned(data: Source, part: RangePartition, redactor: Redactor | None) -> Iterator[Any]:
    start, expected = part.start, part.expected_offset
    yield from RecordScan(data, start=start, expected_offset=expected, redactor=redactor)


def _cells(table: Any, part: RangePartition) -> _Cells:
    cells = dict(zip(table.schema.names, table.columns, strict=True))
    for name in _TIMES:
        if name in cells:
            cells[name] = microseconds(cells[name])
    cells["file"] = _constant(part.shown, pa.string(), table.num_rows)
    return cells


def _constant(value: object, kind: pa.DataType, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), rows)


def _batch(cells: _Cells, names: Collection[str]) -> Any:
    # a VARIANT is known to Spark by its field's metadata, which the array's type carries
    fields = [pa.field(name, cells[name].type) for name in names]
    return pa.RecordBatch.from_arrays([cells[name] for name in names], schema=pa.schema(fields))
