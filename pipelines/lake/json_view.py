"""Tables of a lake for programs that know no VARIANT: the same rows with JSON text in its place.

    rows = json_view("lake", "bronze.log_records")
    polars.from_arrow(rows.read_all()), pandas by rows.read_pandas(), DataFusion and DuckDB by the
    stream itself

The view is made while it is read, and nothing of it is stored: docs/how-to/other-engines.md has the
measurement behind this choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake.exceptions import DeltaError, TableNotFoundError

from pipelines.lake.delta_rs import batches_of, open_table
from pipelines.lake.lake import Lake
from pipelines.lake.tables import check_table, tables_of
from replica.errors import UnreadableFileError, UsageError
from replica.scan.variant_texts import is_variant, variant_texts

_JSON = {b"kraftlake": b"json"}
"""The metadata of a column of JSON text that was a VARIANT."""


def json_view(
    lake: str | Path | Lake, table: str, columns: Sequence[str] | None = None
) -> pa.RecordBatchReader:
    """The rows of a table, such as bronze.log_records, as a stream of Arrow batches. Each VARIANT
    is a text of JSON without spaces, and all other columns have a plain type of Arrow. columns: the
    wanted columns; by default all.

    Raises UsageError where there is no such lake, table or column, and UnreadableFileError where
    delta-rs can't open the table.
    """
    lake = lake if isinstance(lake, Lake) else Lake(lake)
    check_table(table, tables_of(lake))
    uri = lake.table_uri(table)
    try:
        rows = open_table(uri).to_pyarrow_dataset()
    except (DeltaError, TableNotFoundError, OSError, ValueError) as error:
        raise UnreadableFileError(uri, " ".join(str(error).split())) from error
    absent = [name for name in columns or () if name not in rows.schema.names]
    if absent:
        raise UsageError(f"{table}: no column {absent[0]}; it has {', '.join(rows.schema.names)}")
    return plain(rows.scanner(columns=None if columns is None else list(columns)).to_reader())


def plain(batches: Any) -> pa.RecordBatchReader:
    """The batches of a reader of Arrow's or delta-rs', one at a time, without views of texts and
    bytes (which not every program reads), and with each VARIANT column as JSON text."""
    schema = pa.schema([_plain_field(field) for field in pa.schema(batches.schema)])
    return pa.RecordBatchReader.from_batches(schema, _plain_batches(batches_of(batches), schema))


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


def _plain_batches(
    arriving: Iterable[pa.RecordBatch], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for batch in arriving:
        columns = [
            variant_texts(column) if is_variant(column.type) else column.cast(field.type)
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
