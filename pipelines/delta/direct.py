"""Append for bulk loads: Spark's tasks write the Parquet files, the driver makes one commit.

Through Spark's own writer each row goes from Python to the JVM, which encodes it again; here the
task that decodes Arrow batches writes them. The files are ordinary ones, so everything that reads,
merges or optimizes the table afterwards works as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from pipelines.data_files import DataFile, write_data_file
from pipelines.delta.lake import Lake
from pipelines.delta.transaction import AppendTransaction
from pipelines.tables.contract import Contract
from replica.errors import KraftlakeError, UnwritableFileError

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Written:
    """version: of the table by this write; None where nothing had to be committed."""

    version: int | None
    files: int
    rows: int
    size_bytes: int


NOTHING = Written(None, 0, 0, 0)


def last_transaction(spark: SparkSession, lake: Lake, contract: Contract, application: str) -> int:
    """The last version of the application's writes into the table, -1 without any."""
    return AppendTransaction(spark, lake.path_of(contract)).version_of(application)


def append_directly(
    spark: SparkSession,
    lake: Lake,
    contract: Contract,
    parts: Sequence[Part],
    batches: Callable[[Part], Iterable[pa.RecordBatch]],
    *,
    transaction: tuple[str, int] | None = None,
) -> Written:
    """Adds the rows of all parts to the table, which ensure_table has made, in one commit.

    parts: what one task each reads; batches: the rows of a part as Arrow, by name and in the types
    of the contract (a VARIANT as struct<value, metadata>). Both are pickled for the workers.
    transaction: as of `append`; where it was written before, no task runs.
    Raises UsageError for a table whose rules only Spark's writer keeps, and whatever KraftlakeError
    a part raises. A write that fails, or loses against a conflicting commit, leaves files that
    nothing refers to: VACUUM removes them.
    """
    path = lake.path_of(contract)
    append = AppendTransaction(spark, path)
    if transaction is not None and append.has_written(*transaction):
        return NOTHING
    write = partial(
        _write_part,
        folder=path,
        schema=contract.arrow_schema,
        batches=batches,
        bounded=append.statistics_columns.bounded,
    )
    files = _run(spark, parts, write)
    version = append.commit(files, transaction)
    return Written(
        version,
        len(files),
        sum(file.row_count for file in files),
        sum(file.size_bytes for file in files),
    )


def _run(
    spark: SparkSession,
    parts: Sequence[Any],
    write: Callable[[tuple[int, Any]], DataFile | KraftlakeError | None],
) -> list[DataFile]:
    if not parts:
        return []
    tasks = spark.sparkContext.parallelize(list(enumerate(parts)), len(parts))
    files = []
    for result in tasks.map(write).collect():
        if isinstance(result, KraftlakeError):
            raise result
        if result is not None:
            files.append(result)
    return files


def _write_part(
    numbered: tuple[int, Any],
    *,
    folder: str,
    schema: pa.Schema,
    batches: Callable[[Any], Iterable[pa.RecordBatch]],
    bounded: frozenset[str],
) -> DataFile | KraftlakeError | None:
    """In a task. Our own errors are results, as Spark would bury them in a traceback."""
    number, part = numbered
    try:
        return write_data_file(folder, schema, batches(part), bounded=bounded, part=number)
    except KraftlakeError as error:
        return error
    except OSError as error:
        return UnwritableFileError(folder, error.strerror or str(error))
