"""The rows that the records of the agreed branch write: versions of entities, and changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

_TIME = pa.timestamp("us", tz="UTC")
WRITTEN = pa.schema(
    [
        ("what", pa.string()),
        *((name, pa.string()) for name in ("cluster_id", "entity", "key", "name", "value")),
        *((name, pa.int64()) for name in ("valid_from_offset", "valid_to_offset")),
        *((name, _TIME) for name in ("valid_from", "valid_to")),
        ("leader_epoch", pa.int32()),
        ("record_offset", pa.int64()),
        *((name, pa.string()) for name in ("record_type", "change", "old", "new", "commitment")),
    ]
)
"""A row is, by `what`:
VERSION  a row of gold.metadata_history
CHANGE   a row of gold.metadata_changes: valid_from is its `at`, record_offset its `offset`
RANGE    a row of gold.state_ranges: valid_from_offset is its `from_offset`, valid_to_offset its
`to_offset`
"""

VERSION, CHANGE, RANGE = "version", "change", "range"

OF_VERSION = (
    "entity", "key", "name", "value", "valid_from_offset", "valid_to_offset",
    "valid_from", "valid_to", "leader_epoch", "record_offset", "record_type",
)  # fmt: skip
OF_CHANGE = (
    "entity", "key", "name", "valid_from", "leader_epoch", "record_offset", "record_type",
    "change", "old", "new", "commitment",
)  # fmt: skip
OF_RANGE = ("valid_from_offset", "valid_to_offset")


class Since(NamedTuple):
    """The offset and the time from which on a version is valid, and the record that made the
    version."""

    offset: int
    timestamp_us: int | None
    leader_epoch: int
    record_offset: int | None
    record_type: str | None


def written_rows(
    rows: list[tuple[Any, ...]], names: tuple[str, ...], same: Mapping[str, Any]
) -> pa.RecordBatch:
    """Rows as WRITTEN. names: the columns of `rows`. same: the values that all rows have in other
    columns."""
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    kinds = {name: WRITTEN.field(name).type for name in names}
    return written(len(rows), {n: _array(columns[n], kinds[n]) for n in names}, same)


def written(count: int, columns: Mapping[str, pa.Array], same: Mapping[str, Any]) -> pa.RecordBatch:
    """`count` rows as WRITTEN. same: the values that all rows have in some columns. Columns that
    neither argument names are NULL."""
    arrays = [
        columns[field.name]
        if field.name in columns
        else pa.repeat(pa.scalar(same.get(field.name), field.type), count)
        for field in WRITTEN
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=WRITTEN)


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    if kind == _TIME:  # in microseconds
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)
