"""Arrow columns for rows of the sources, VARIANT included.

Spark takes a VARIANT straight from Arrow as struct<value, metadata> whose metadata field is marked
variant=true; parse_json is never involved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from replica.metadata.variant import encode_variant

_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)
_TIMESTAMP = pa.timestamp("us", tz="UTC")
_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": _TIMESTAMP,
    "variant": _VARIANT,
}
_NO_TIMESTAMP = -1
_FIRST_MS = -62_135_596_800_000
"""0001-01-01: Spark's and Python's first day."""
_LAST_MS = 253_402_300_799_999


def arrow_schema(columns: Sequence[tuple[str, str]]) -> pa.Schema:
    """The Arrow schema of (name, Spark type) pairs."""
    return pa.schema([pa.field(name, _TYPES[kind]) for name, kind in columns])


def record_batch(columns: Sequence[tuple[str, str]], rows: Iterable[tuple[Any, ...]]) -> Any:
    """One Arrow batch; a variant cell is a JSON-like value or None, a timestamp ms or None."""
    schema = arrow_schema(columns)
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    arrays = [
        _array(values, kind, schema.field(index).type)
        for index, ((_, kind), values) in enumerate(zip(columns, cells, strict=True))
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], kind: str, arrow_type: pa.DataType) -> pa.Array:
    if kind == "timestamp":
        return pa.array([microseconds(value) for value in values], pa.int64()).cast(arrow_type)
    if kind == "variant":
        return pa.array([_variant(value) for value in values], arrow_type)
    return pa.array(values, arrow_type)


def microseconds(timestamp_ms: int | None) -> int | None:
    """us since the epoch; None for Kafka's "no timestamp" and for times no calendar here has."""
    if timestamp_ms is None or timestamp_ms == _NO_TIMESTAMP:
        return None
    if not _FIRST_MS <= timestamp_ms <= _LAST_MS:
        return None
    return timestamp_ms * 1000


def _variant(value: Any) -> dict[str, bytes] | None:
    if value is None:
        return None
    encoded, metadata = encode_variant(value)
    return {"value": encoded, "metadata": metadata}
