"""Arrow batches of delta-rs in a form for other programs: plain types, and VARIANT as JSON text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from jobs.asking.variant_arrow import is_variant, json_of

_JSON = {b"kraftlake": b"json"}
"""Marks a column of JSON text that was a VARIANT."""


def plain(reader: Any) -> pa.RecordBatchReader:
    """The batches of a reader of `jobs.asking.sql_delta_rs`, one at a time. Views of texts and
    bytes, which some programs can't read, become plain types, and VARIANT columns become JSON
    text."""
    arriving = pa.RecordBatchReader.from_stream(reader)
    schema = pa.schema([_plain_field(field) for field in arriving.schema])
    return pa.RecordBatchReader.from_batches(schema, _plain_batches(arriving, schema))


def json_columns(schema: pa.Schema) -> tuple[str, ...]:
    """The names of the columns that were VARIANT."""
    return tuple(field.name for field in schema if (field.metadata or {}).items() >= _JSON.items())


def _plain_field(field: pa.Field) -> pa.Field:
    if is_variant(field.type):
        return pa.field(field.name, pa.string(), metadata=_JSON)
    return pa.field(field.name, _plain_type(field.type))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, _plain_type(one.type)) for one in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", _plain_type(kind.value_type)))
    return kind


def _plain_batches(arriving: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in arriving:
        columns = [
            json_of(column) if is_variant(column.type) else column.cast(field.type)
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
