"""A table's content replaced: Spark's tasks write the Parquet files, the driver makes one commit.

Spark's own overwrite runs five to eight jobs more, to plan and to look at what it wrote: for small
tables they take far longer than the rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pyarrow as pa
from deltalake import CommitProperties
from deltalake.transaction import AddAction
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from pipelines.data_files import write_data_file
from pipelines.delta.actions import StatisticsColumns, statistics
from pipelines.delta.direct import Written
from pipelines.delta.lake import Lake
from pipelines.delta_rs import open_table
from pipelines.lake_paths import table_uri
from pipelines.tables.contract import Contract
from replica.errors import UnwritableFileError

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
"""Of a task: a row for the file that it wrote, or one with the path and the reason, as JSON, for
which it could not: an exception would come out of Spark buried in a traceback."""
_RESULT_DDL = (
    "name string, size_bytes bigint, modified bigint, rows bigint, stats string, refused string"
)


def replace(lake: Lake, contract: Contract, rows: DataFrame) -> Written:
    """Makes `rows` the whole content of the table, which ensure_table has made, in one commit.

    Where the table is empty and stays so, nothing is committed. Raises UnwritableFileError for what
    a task could not write, and deltalake's errors for the commit. A write that fails leaves files
    that nothing refers to: VACUUM removes them.
    """
    assert not contract.partition_by, f"{contract.name}: a task's file would be of all partitions"
    columns = StatisticsColumns.of_contract(contract.schema)
    schema = to_arrow_schema(contract.schema, timezone="UTC")
    write = partial(_write, folder=lake.path_of(contract), schema=schema, columns=columns)
    # Spark wants a function, and pickles it for its workers
    task: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]] = lambda rows: write(rows)  # noqa: E731
    files = contract.select(rows).mapInArrow(task, _RESULT_DDL).collect()
    for file in files:
        if file.refused is not None:
            raise UnwritableFileError(*json.loads(file.refused))
    adds = [
        AddAction(file.name, file.size_bytes, {}, file.modified, True, file.stats) for file in files
    ]
    row_count = sum(file.rows for file in files)
    version = _commit(lake, contract, adds, row_count)
    return Written(version, len(files), row_count, sum(file.size_bytes for file in files))


def _write(
    batches: Iterable[pa.RecordBatch], *, folder: str, schema: pa.Schema, columns: StatisticsColumns
) -> Iterator[pa.RecordBatch]:
    try:
        file = write_data_file(
            folder, schema, (_cast(one, schema) for one in batches), bounded=columns.bounded
        )
    except UnwritableFileError as error:
        yield _row(refused=json.dumps([error.path, error.reason]))
    except OSError as error:
        yield _row(refused=json.dumps([folder, error.strerror or str(error)]))
    else:
        if file is not None:
            yield _row(
                name=file.name,
                size_bytes=file.size_bytes,
                modified=file.modified,
                rows=file.row_count,
                stats=json.dumps(statistics(file, columns), ensure_ascii=False),
            )


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Spark derives from its plan what can be NULL inside of arrays and structs; the contract says
    what the table's schema says."""
    arrays = [batch.column(field.name).cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _row(**values: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([values], schema=_RESULT)


def _commit(lake: Lake, contract: Contract, adds: Sequence[AddAction], rows: int) -> int | None:
    table = open_table(table_uri(lake.root, contract.name))
    if not adds and not table.file_uris():
        return None
    metrics = {
        "numFiles": len(adds),
        "numOutputRows": rows,
        "numOutputBytes": sum(add.size for add in adds),
    }
    table.create_write_transaction(
        [*adds],
        mode="overwrite",
        schema=table.schema(),
        commit_properties=CommitProperties(
            custom_metadata={
                "operationMetrics": {name: str(value) for name, value in metrics.items()}
            }
        ),
    )
    return table.version()
