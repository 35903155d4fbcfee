"""VARIANT columns of Arrow data, as JSON text."""

from __future__ import annotations

import pyarrow as pa

from jobs.asking.sql_delta_rs import variant_text


def is_variant(kind: pa.DataType) -> bool:
    """Whether a column of this type is a VARIANT: struct<metadata, value>, in either order."""
    return pa.types.is_struct(kind) and {field.name for field in kind} == {"metadata", "value"}


def json_of(column: pa.StructArray | pa.ChunkedArray) -> pa.Array:
    """The JSON text of each VARIANT, NULL where the column has none."""
    texts = (
        None if one is None else variant_text(one["value"], one["metadata"])
        for one in column.to_pylist()
    )
    return pa.array(texts, pa.string())
