"""Writes rows into a table: Spark's tasks, or the driver, write the Parquet files, and the driver
makes one commit by delta-rs.

Spark's own writer runs five to eight jobs more, for its plan and to read what it wrote: for small
tables they take far longer than the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from pipelines.delta.committing import NewFile, WriteTarget, Written, commit
from pipelines.lake import Lake
from pipelines.tables.contract import Contract
from replica.errors import UnwritableFileError


@dataclass(frozen=True)
class _Answer:
    """A task's result: the file that it wrote; or, in `refused`, as JSON, the path and the reason
    for which it could not. Spark would hide an exception in a traceback."""

    name: str = ""
    size_bytes: int = 0
    modified: int = 0
    rows: int = 0
    stats: str = ""
    refused: str | None = None

    @property
    def file(self) -> NewFile:
        """The file. Raises UnwritableFileError where it could not be written."""
        if self.refused is not None:
            raise UnwritableFileError(*json.loads(self.refused))
        return NewFile(self.name, self.size_bytes, self.modified, self.rows, self.stats)


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
"""The columns of _Answer."""
_RESULT_DDL = (
    "name string, size_bytes bigint, modified bigint, rows bigint, stats string, refused string"
)


def replace(lake: Lake, contract: Contract, rows: DataFrame) -> Written:
    """Makes `rows` the whole content of the table, which ensure_table has made, in one commit.

    Where the table is empty and stays so, nothing is committed. Raises UnwritableFileError where a
    task could not write, and deltalake's errors for the commit. After a write that fails nothing
    refers to its files: VACUUM removes them.
    """
    return commit(lake, contract, _files_of_tasks(lake, contract, rows), "overwrite")


def add(lake: Lake, contract: Contract, rows: DataFrame, application: str, seen: int) -> Written:
    """Adds `rows` in one commit. application, seen, and the errors: as of `add_values`."""
    files = _files_of_tasks(lake, contract, rows)
    return commit(lake, contract, files, "append", application, seen)


def add_values(
    lake: Lake,
    contract: Contract,
    values: Sequence[Mapping[str, Any]],
    application: str | None = None,
    seen: int | None = None,
) -> Written:
    """Adds rows that the driver has, by column name, in one commit. Raises the errors of `replace`.

    application, seen: as of pipelines.delta.committing.commit. seen is the version in which the
    caller saw that the rows are missing: a writer that committed since then may have added them.
    """
    files = _files_of_values(lake, contract, pa.Table.from_pylist([*values], contract.arrow_schema))
    return commit(lake, contract, files, "append", application, seen)


def replace_values(lake: Lake, contract: Contract, values: Iterable[pa.Table]) -> Written:
    """`replace` with rows that the driver has, in the columns and types of the contract: a file for
    each of the tables."""
    files = [file for rows in values for file in _files_of_values(lake, contract, rows)]
    return commit(lake, contract, files, "overwrite")


def _files_of_values(lake: Lake, contract: Contract, values: pa.Table) -> list[NewFile]:
    found = _write(values.to_batches(), WriteTarget.of(lake, contract))
    return [_Answer(**row).file for batch in found for row in batch.to_pylist()]


def _files_of_tasks(lake: Lake, contract: Contract, rows: DataFrame) -> list[NewFile]:
    target = WriteTarget.of(lake, contract)

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _write(batches, target)

    found = contract.select(rows).mapInArrow(write, _RESULT_DDL).collect()
    return [_Answer(**row.asDict()).file for row in found]


def _write(batches: Iterable[pa.RecordBatch], target: WriteTarget) -> Iterator[pa.RecordBatch]:
    try:
        file = target.write(_cast(one, target.schema) for one in batches)
    except UnwritableFileError as error:
        yield _row(_Answer(refused=json.dumps([error.path, error.reason])))
    except OSError as error:
        reason = error.strerror or str(error)
        yield _row(_Answer(refused=json.dumps([target.folder, reason])))
    else:
        if file is not None:
            yield _row(_Answer(**asdict(file)))


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in the contract's schema. Spark derives from its plan what can be NULL inside of
    arrays and structs; the contract has what the table's schema says."""
    arrays = [_as(batch.column(field.name), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    # Arrow casts no NULL of a VARIANT, not even to the type that it has
    return column if column.type.equals(kind) else column.cast(kind)


def _row(answer: _Answer) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([asdict(answer)], schema=_RESULT)
