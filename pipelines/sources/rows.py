"""The bulk reader's Arrow batches, with the columns of the sources."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.sources.files import Owner
from pipelines.sources.ranges import RangePartition
from replica.format.byte_source import Source
from replica.metadata.redact import Redactor
from replica.scan.arrow import BatchScan, RecordScan
from replica.scan.columns import BATCH_SCHEMA, microseconds

_Cells = dict[str, pa.Array]
_TIMES = ("timestamp", "base_timestamp", "max_timestamp")
OWNER = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("node_id", pa.int32()),
        ("directory_id", pa.string()),
        ("directory", pa.string()),
    ]
)
"""The columns of every source that name the owner of a row."""
OF_BATCH = ("last_offset", "record_count", "size_bytes")
"""The columns of a record's row about its batch, besides those that the bulk reader gives for every
record."""


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
    headers = _headers(data, part) if "last_offset" in names else None
    for table in _scanned(data, part, redactor):
        cells = _cells(table, part)
        if headers is not None:
            cells |= _of_batches(headers, table["position"])
        yield _batch(cells, names)


def snapshot_records(
    data: Source,
    part: RangePartition,
    redactor: Redactor | None,
    snapshot_id: tuple[int | None, int | None],
    names: Collection[str],
) -> Iterator[Any]:
    """A row for each record of a snapshot; the record's offset is its index. snapshot_id: end
    offset and epoch. names, redactor: as in `records`."""
    end_offset, epoch = snapshot_id
    for table in _scanned(data, part, redactor):
        cells = _cells(table, part)
        cells["index"] = cells["offset"]
        cells["end_offset"] = _constant(end_offset, pa.int64(), table.num_rows)
        cells["epoch"] = _constant(epoch, pa.int32(), table.num_rows)
        yield _batch(cells, names)


def _headers(data: Source, part: RangePartition) -> pa.Table:
    """The batches of the range: position and OF_BATCH, ascending by position."""
    scan = BatchScan(data, start=part.start, expected_offset=part.expected_offset)
    return pa.Table.from_batches(scan, BATCH_SCHEMA).select(["position", *OF_BATCH])


def _of_batches(headers: pa.Table, positions: pa.Array) -> _Cells:
    """The columns OF_BATCH of records whose batches begin at these positions."""
    places = np.searchsorted(headers["position"].to_numpy(), positions.to_numpy())
    told = headers.select([*OF_BATCH]).take(pa.array(places)).combine_chunks()
    return {name: told[name].combine_chunks() for name in OF_BATCH}


def _scanned(data: Source, part: RangePartition, redactor: Redactor | None) -> Iterator[Any]:
    start, expected = part.start, part.expected_offset
    yield from RecordScan(data, start=start, expected_offset=expected, redactor=redactor)


def _cells(table: Any, part: RangePartition) -> _Cells:
    cells = dict(zip(table.schema.names, table.columns, strict=True))
    for name in _TIMES:
        if name in cells:
            cells[name] = microseconds(cells[name])
    cells["file"] = _constant(part.shown, pa.string(), table.num_rows)
    if part.owner is not None:
        cells |= {
            name: _constant(value, OWNER.field(name).type, table.num_rows)
            for name, value in owner_values(part.owner).items()
        }
    return cells


def owner_values(owner: Owner) -> dict[str, Any]:
    """The values of the columns OWNER, which name a row's directory and replica."""
    replica = dict.fromkeys(OWNER.names) if owner.replica is None else asdict(owner.replica)
    return {**replica, "directory": owner.directory}


def _constant(value: object, kind: pa.DataType, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), rows)


def _batch(cells: _Cells, names: Collection[str]) -> Any:
    # Spark recognizes a VARIANT by its field's metadata, which the array's type carries
    fields = [pa.field(name, cells[name].type) for name in names]
    return pa.RecordBatch.from_arrays([cells[name] for name in names], schema=pa.schema(fields))
