"""Writes Arrow batches as a Parquet file into a table's folder, and gives the facts that a commit
needs about the file.

This module runs in Spark's tasks, and uses neither Spark nor Delta. A file belongs to the table
only when a commit names it: files of failed, repeated or speculative tasks are left to VACUUM.

Columns are encoded by type, which measurements decided: texts and ints by dictionary,
bigints and times by differences, bytes plainly. A VARIANT's field `metadata` is encoded by
dictionary, because it repeats; its field `value` plainly.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

from pipelines.new_file import Bound, NewFile
from pipelines.object_store import is_uri, opened
from replica.errors import UnwritableFileError

COMPRESSION = "snappy"
"""Spark uses it by default, too. With zstd files are a sixth smaller, and writing takes a fifth
longer."""
ROW_GROUP_BYTES = 32 * 1024 * 1024
"""The bytes of Arrow at which a row group is written. The size hardly changes the speed. It is
small enough for small tasks and for readers that skip row groups, and large enough for useful
dictionaries."""
_BATCH_ROWS = 8192
"""The rows of a batch that is read, unless the file has fewer."""


def write_data_file(
    folder: str,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    *,
    bounded: Collection[str],
) -> NewFile | None:
    """Writes the batches' rows to a new file in `folder`. Gives None, and makes no file, where
    there are no rows.

    folder: a local path, or a URI of pyarrow.fs or of Hadoop's s3a. schema: the table's; batches
    have its columns by name, in its types. bounded: the columns whose least and greatest values the
    result gives. Raises ValueError where a batch lacks a column, has it in another type, or has
    NULL in a column that allows none; OSError where the disk refuses; UnwritableFileError where the
    object store refuses.
    """
    groups = _row_groups(_conforming(batches, schema))
    first = next(groups, None)
    if first is None:
        return None
    name = f"part-00000-{uuid.uuid4()}-c000.{COMPRESSION}.parquet"
    counts: Counter[str] = Counter()
    encodings = _encodings(schema, bounded)
    with _opened(folder) as (store, root):
        path = f"{root}/{name}"
        with (
            store.open_output_stream(path) as out,
            pq.ParquetWriter(out, schema, **encodings) as writer,
        ):
            for group in chain([first], groups):
                counts.update({column: group[column].null_count for column in schema.names})
                writer.write_table(group, row_group_size=group.num_rows)
        info = store.get_file_info(path)
    footer = writer.writer.metadata
    return NewFile(
        name, info.size, info.mtime_ns // 10**6, footer.num_rows, counts, _bounds(footer, bounded)
    )


def read_data_file(folder: str, name: str) -> pa.Table:
    """All rows of a file of the folder. Raises OSError; UnreadableFileError where the object store
    refuses."""
    if not is_uri(folder):
        return pq.read_table(f"{folder}/{name}", partitioning=None)
    with opened(folder) as (store, root):
        return pq.read_table(f"{root.rstrip('/')}/{name}", filesystem=store, partitioning=None)


def data_set(folder: str, names: Sequence[str]) -> ds.Dataset:
    """Files of the folder as one data set, of which readers take columns and rows as they need
    them. Raises the errors of read_data_file."""
    with _opened(folder) as (store, root):
        return ds.dataset([f"{root}/{name}" for name in names], filesystem=store, format="parquet")


def batches_of(folder: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """All rows of files of the folder, in batches. At most a few batches are in memory at a time,
    however large the files are. Raises the errors of read_data_file."""
    with _opened(folder) as (store, root):
        for name in names:
            with (
                store.open_input_file(f"{root}/{name}") as opened_file,
                pq.ParquetFile(opened_file, pre_buffer=False) as file,
            ):
                yield from file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False)


def remove_data_files(folder: str, names: Iterable[str]) -> None:
    """Removes files of the folder that no commit names. Raises the errors of write_data_file."""
    with _opened(folder) as (store, root):
        for name in names:
            store.delete_file(f"{root}/{name}")


def write_parquet(path: Path, batches: pa.RecordBatchReader) -> int:
    """Writes the batches to a new file outside of any table, for programs that read no Delta. Gives
    the number of rows. The compression is zstd, because such a file is written once and then kept.
    """
    count = 0
    with (
        path.open("wb") as file,  # pyarrow can't open a path that isn't UTF-8
        pq.ParquetWriter(file, batches.schema, compression="zstd", store_schema=False) as writer,
    ):
        for group in _row_groups(batches):
            writer.write_table(group, row_group_size=group.num_rows)
            count += group.num_rows
    return count


def values_of(file: Any, column: str) -> list[Any]:
    """The values of a column of an open Parquet file; empty where the file has no such column.
    Raises OSError, and ValueError for a file that isn't Parquet."""
    opened = pq.ParquetFile(file)
    if column not in opened.schema_arrow.names:
        return []
    found: list[Any] = opened.read(columns=[column]).column(0).to_pylist()
    return found


@contextmanager
def _opened(folder: str) -> Iterator[tuple[fs.FileSystem, str]]:
    if not is_uri(folder):
        yield fs.LocalFileSystem(), folder
        return
    with opened(folder, UnwritableFileError) as (store, root):
        yield store, root.rstrip("/")


def _encodings(schema: pa.Schema, bounded: Collection[str]) -> dict[str, Any]:
    by_dictionary: list[str] = []
    by_difference: dict[str, str] = {}
    for field in schema:
        if pa.types.is_struct(field.type):  # a VARIANT
            by_dictionary.append(f"{field.name}.metadata")
        elif pa.types.is_int64(field.type) or pa.types.is_timestamp(field.type):
            by_difference[field.name] = "DELTA_BINARY_PACKED"
        elif not pa.types.is_binary(field.type):
            by_dictionary.append(field.name)
    return {
        "compression": COMPRESSION,
        "use_dictionary": by_dictionary,
        "column_encoding": by_difference,
        "write_statistics": [name for name in schema.names if name in bounded],
        "store_schema": False,  # what Arrow would add is of no use to Spark
    }


def _conforming(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = []
        for field in schema:
            index = batch.schema.get_field_index(field.name)
            if index < 0:
                raise ValueError(f"column {field.name} is missing")
            column = batch.column(index)
            if not column.type.equals(field.type):
                raise ValueError(f"column {field.name} is {column.type}, not {field.type}")
            if column.null_count and not field.nullable:
                raise ValueError(f"column {field.name} has no value in {column.null_count} rows")
            columns.append(_filled(column, field) if pa.types.is_struct(field.type) else column)
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _filled(column: pa.StructArray, field: pa.Field) -> pa.StructArray:
    """The column. Where the whole value is NULL, Arrow may have a NULL in the value's fields, too;
    such a field gets empty bytes here."""
    children = [column.field(k) for k in range(field.type.num_fields)]
    if not any(child.null_count for child in children):
        return column
    filled = [child.fill_null(b"") for child in children]
    return pa.StructArray.from_arrays(filled, fields=list(field.type), mask=column.is_null())


def _row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The batches as row groups, none of them empty."""
    collected: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        collected.append(batch)
        size += batch.nbytes
        if size >= ROW_GROUP_BYTES:
            yield pa.Table.from_batches(collected)
            collected, size = [], 0
    if collected:
        yield pa.Table.from_batches(collected)


def _bounds(footer: pq.FileMetaData, bounded: Collection[str]) -> dict[str, tuple[Bound, Bound]]:
    chunks: dict[str, list[Any]] = {}
    for group in range(footer.num_row_groups):
        row_group = footer.row_group(group)
        for index in range(row_group.num_columns):
            chunk = row_group.column(index)
            if chunk.path_in_schema in bounded:
                chunks.setdefault(chunk.path_in_schema, []).append(chunk)
    found = {name: _bounds_of([chunk.statistics for chunk in of]) for name, of in chunks.items()}
    return {name: bounds for name, bounds in found.items() if bounds is not None}


def _bounds_of(statistics: list[Any]) -> tuple[Bound, Bound] | None:
    """(least value, greatest value) of a column, from the statistics of its row groups; None where
    there is no value, or where Parquet left out the bounds of a row group."""
    filled = [one for one in statistics if one is None or one.num_values]
    if not filled or any(one is None or not one.has_min_max for one in filled):
        return None
    return min(one.min for one in filled), max(one.max for one in filled)
