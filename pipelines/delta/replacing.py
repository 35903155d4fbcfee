"""Rows brought into a table: Spark's tasks, or the driver, write the Parquet files, and the driver
makes one commit by delta-rs.

Spark's own writer runs five to eight jobs more, to plan and to look at what it wrote: for small
tables they take far longer than the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction
from pyspark.sql import DataFrame

from pipelines.data_files import write_data_file
from pipelines.delta.actions import StatisticsColumns, statistics
from pipelines.delta.direct import NOTHING, Written
from pipelines.delta.lake import Lake
from pipelines.delta_rs import open_table
from pipelines.lake_paths import table_uri
from pipelines.tables.contract import Contract
from replica.errors import UnwritableFileError


@dataclass(frozen=True)
class _File:
    """What a task says of the file that it wrote; or, in `refused`, the path and the reason for
    which it could not, as JSON: an exception would come out of Spark buried in a traceback."""

    name: str = ""
    size_bytes: int = 0
    modified: int = 0
    rows: int = 0
    stats: str = ""
    refused: str | None = None

    @property
    def action(self) -> AddAction:
        """What the commit says of it."""
        return AddAction(self.name, self.size_bytes, {}, self.modified, True, self.stats)


_RESULT = pa.schema(
    {
        "name": pa.string(),
        "size_bytes": pa.int64(),
        "modified": pa.int64(),
        "rows": pa.int64(),
        "stats": pa.string(),
        "refused": pa.string(),
    }
)
"""_File's."""
_RESULT_DDL = (
    "name string, size_bytes bigint, modified bigint, rows bigint, stats string, refused string"
)


@dataclass(frozen=True)
class _Target:
    """A table, as far as a task that writes its files needs to know it."""

    folder: str
    schema: pa.Schema
    columns: StatisticsColumns

    @staticmethod
    def of(lake: Lake, contract: Contract) -> _Target:
        name = contract.name
        assert not contract.partition_by, f"{name}: a task's file would be of all partitions"
        columns = StatisticsColumns.of_contract(contract.schema)
        return _Target(lake.path_of(contract), contract.arrow_schema, columns)


def replace(lake: Lake, contract: Contract, rows: DataFrame) -> Written:
    """Makes `rows` the whole content of the table, which ensure_table has made, in one commit.

    Where the table is empty and stays so, nothing is committed. Raises UnwritableFileError for what
    a task could not write, and deltalake's errors for the commit. A write that fails leaves files
    that nothing refers to: VACUUM removes them.
    """
    return _commit(lake, contract, _files_of_tasks(lake, contract, rows), "overwrite")


def add(lake: Lake, contract: Contract, rows: DataFrame, application: str, seen: int) -> Written:
    """Adds `rows` in one commit. application, seen, and the errors: as of `add_values`."""
    files = _files_of_tasks(lake, contract, rows)
    return _commit(lake, contract, files, "append", application, seen)


def add_values(
    lake: Lake,
    contract: Contract,
    values: Sequence[Mapping[str, Any]],
    application: str | None = None,
    seen: int | None = None,
) -> Written:
    """Adds rows that the driver has, by column name, in one commit. The errors of `replace`.

    application: counts its writes to the table, as Delta's app transactions. seen: the version of
    the table in which the caller saw that the rows are missing, None for the newest. Where the
    application has written to the table since then, it may have added them: deltalake's
    CommitFailedError.
    """
    files = _files_of_values(lake, contract, pa.Table.from_pylist([*values], contract.arrow_schema))
    return _commit(lake, contract, files, "append", application, seen)


def replace_values(lake: Lake, contract: Contract, values: pa.Table) -> Written:
    """`replace` with rows that the driver has, in the columns and types of the contract."""
    return _commit(lake, contract, _files_of_values(lake, contract, values), "overwrite")


def _files_of_values(lake: Lake, contract: Contract, values: pa.Table) -> list[_File]:
    found = _write(values.to_batches(), _Target.of(lake, contract))
    return [_File(**row) for batch in found for row in batch.to_pylist()]


def _files_of_tasks(lake: Lake, contract: Contract, rows: DataFrame) -> list[_File]:
    target = _Target.of(lake, contract)

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _write(batches, target)

    found = contract.select(rows).mapInArrow(write, _RESULT_DDL).collect()
    return [_File(**row.asDict()) for row in found]


def _write(batches: Iterable[pa.RecordBatch], target: _Target) -> Iterator[pa.RecordBatch]:
    folder, schema, columns = target.folder, target.schema, target.columns
    try:
        cast = (_cast(one, schema) for one in batches)
        file = write_data_file(folder, schema, cast, bounded=columns.bounded)
    except UnwritableFileError as error:
        yield _row(_File(refused=json.dumps([error.path, error.reason])))
    except OSError as error:
        yield _row(_File(refused=json.dumps([folder, error.strerror or str(error)])))
    else:
        if file is not None:
            stats = json.dumps(statistics(file, columns), ensure_ascii=False)
            yield _row(_File(file.name, file.size_bytes, file.modified, file.row_count, stats))


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Spark derives from its plan what can be NULL inside of arrays and structs; the contract says
    what the table's schema says."""
    arrays = [_as(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    # Arrow casts no NULL of a VARIANT, not even to the type that it has
    return column if column.type.equals(kind) else column.cast(kind)


def _row(file: _File) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([asdict(file)], schema=_RESULT)


def _commit(
    lake: Lake,
    contract: Contract,
    files: Sequence[_File],
    mode: str,
    application: str | None = None,
    seen: int | None = None,
) -> Written:
    for file in files:
        if file.refused is not None:
            raise UnwritableFileError(*json.loads(file.refused))
    table = open_table(table_uri(lake.root, contract.name), seen)
    rows, size = sum(one.rows for one in files), sum(one.size_bytes for one in files)
    if not files and not (mode == "overwrite" and table.file_uris()):
        return NOTHING
    metrics = {"numFiles": len(files), "numOutputRows": rows, "numOutputBytes": size}
    told = {"operationMetrics": {name: str(value) for name, value in metrics.items()}}
    transactions = [] if application is None else [_next_transaction(table, application)]
    table.create_write_transaction(
        [one.action for one in files],
        mode=mode,
        schema=table.schema(),
        commit_properties=CommitProperties(custom_metadata=told, app_transactions=transactions),
    )
    table.update_incremental()  # to this commit, and to those of others behind it
    return Written(table.version(), len(files), rows, size)


def _next_transaction(table: DeltaTable, application: str) -> Transaction:
    last = table.transaction_version(application)
    return Transaction(application, 0 if last is None else last + 1)
