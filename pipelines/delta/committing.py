"""One commit of delta-rs for Parquet files that tasks, or the driver, wrote.

Such a commit takes milliseconds; Spark's own writer runs five to eight jobs. A file's statistics
are those of https://github.com/delta-io/delta/blob/master/PROTOCOL.md: "Per-file Statistics".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction
from pyspark.sql.types import DataType, StructType

from pipelines.data_files import write_data_file
from pipelines.delta.conforming import open_conforming
from pipelines.lake import Lake
from pipelines.new_file import Bound, NewFile
from pipelines.tables.contract import Contract

_BOUNDED_TYPES = ("byte", "short", "integer", "long", "string", "timestamp")
"""Names of the types, as pyspark and Delta's schemas have them."""
_INDEXED = 32
"""How many columns get statistics by Delta's default."""
_TEXT_LENGTH = 32
"""How many characters of a text's bounds Delta keeps."""
_LAST_CHARACTER = "\U0010ffff"
INGEST = {"kraftlake": "ingest"}
"""The field that an ingest's commits have besides Delta's own fields."""
COMPACTED = INGEST | {"kraftlakeRows": "same"}
"""The fields of a commit that only joins files: the table has the same rows as before it."""


@dataclass(frozen=True, slots=True)
class StatisticsColumns:
    """The columns of a table of which Delta's log has statistics."""

    bounded: frozenset[str]
    """The columns of which the log has the least and the greatest value."""
    counted: frozenset[str]
    """The columns of which the log has the number of NULLs."""

    @staticmethod
    def of_contract(schema: StructType) -> StatisticsColumns:
        """Delta's default: the first 32 columns, where each column inside of a struct counts.
        Fields inside of structs are left out."""
        fields = [
            f for f, begin in zip(schema.fields, _begins(schema), strict=True) if begin < _INDEXED
        ]
        return StatisticsColumns(
            frozenset(f.name for f in fields if f.dataType.typeName() in _BOUNDED_TYPES),
            frozenset(f.name for f in fields if not isinstance(f.dataType, StructType)),
        )


def _begins(schema: StructType) -> Iterator[int]:
    """For each column the number of columns before it. Columns inside of structs count."""
    return accumulate((_leaves(field.dataType) for field in schema.fields[:-1]), initial=0)


def _leaves(kind: DataType) -> int:
    if not isinstance(kind, StructType):
        return 1
    return sum(_leaves(field.dataType) for field in kind.fields)


def statistics(file: NewFile, columns: StatisticsColumns) -> dict[str, Any]:
    """The statistics of a file without deleted rows. Bounds are exact; texts and times are cut as
    Delta cuts them."""
    bounds = {name: both for name, both in file.bounds.items() if name in columns.bounded}
    largest = {name: _largest(high) for name, (_, high) in bounds.items()}
    return {
        "numRecords": file.row_count,
        "minValues": {name: _least(low) for name, (low, _) in bounds.items()},
        "maxValues": {name: high for name, high in largest.items() if high is not None},
        "nullCount": {n: count for n, count in file.null_counts.items() if n in columns.counted},
    }


def _least(value: Bound) -> int | str:
    return value[:_TEXT_LENGTH] if isinstance(value, str) else _scalar(value)


def _largest(value: Bound) -> int | str | None:
    """The value in Delta's form. A long text becomes a shorter text that isn't less; None where
    there is no such text."""
    if not isinstance(value, str) or len(value) <= _TEXT_LENGTH:
        return _scalar(value)
    if value[_TEXT_LENGTH] == _LAST_CHARACTER:
        return None
    return value[:_TEXT_LENGTH] + _LAST_CHARACTER


def _scalar(value: Bound) -> int | str:
    """The value in Delta's form. Times are cut to ms: a reader adds a ms to the greatest time."""
    if not isinstance(value, datetime):
        return value
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a write."""

    version: int | None
    """The table's version after the write; None where nothing had to be committed."""
    files: int
    """The number of new data files."""
    rows: int
    """The number of rows in the new data files."""
    size_bytes: int
    """The size of the new data files in bytes."""


NOTHING = Written(None, 0, 0, 0)


@dataclass(frozen=True)
class WriteTarget:
    """The facts about a table that a task needs to write the table's files."""

    folder: str
    schema: pa.Schema
    bounded: frozenset[str]
    """The columns whose least and greatest values are wanted."""

    @staticmethod
    def of(lake: Lake, contract: Contract) -> WriteTarget:
        """The target of the contract's table in a lake."""
        bounded = StatisticsColumns.of_contract(contract.schema).bounded
        return WriteTarget(lake.path_of(contract), contract.arrow_schema, bounded)

    def write(self, batches: Iterable[pa.RecordBatch]) -> NewFile | None:
        """Writes the rows as a new file in the table's folder. Gives the file; None where there are
        no rows. Raises the errors of pipelines.data_files.write_data_file."""
        return write_data_file(self.folder, self.schema, batches, bounded=self.bounded)


def commit(
    lake: Lake,
    contract: Contract,
    files: Sequence[NewFile],
    mode: str,
    applications: Sequence[str] = (),
    seen: int | None = None,
    also: Sequence[Transaction] = (),
) -> Written:
    """Adds the files to the table (mode "append"), or makes them its whole content ("overwrite").

    applications: Delta's application ids of an ingest, for each of which the table's log counts the
    commits (app transactions). A commit with such an id also gets the field INGEST. Other jobs give
    no id here.
    also: more app transactions of the commit, such as the micro-batch of a stream.
    seen: the table's version that the caller has read; None stands for the newest one. Raises
    deltalake's CommitFailedError where one of the applications has written to the table since that
    version.
    After a failed commit nothing refers to the files: VACUUM removes them.
    """
    table = open_conforming(lake, contract, seen)
    rows, size = sum(one.row_count for one in files), sum(one.size_bytes for one in files)
    if not files and not (mode == "overwrite" and table.file_uris()):
        return NOTHING
    metrics = {"numFiles": len(files), "numOutputRows": rows, "numOutputBytes": size}
    told: dict[str, Any] = {"operationMetrics": {name: str(n) for name, n in metrics.items()}}
    if applications:
        told |= INGEST
    columns = StatisticsColumns.of_contract(contract.schema)
    transactions = [*also, *(_next_transaction(table, name) for name in applications)]
    table.create_write_transaction(
        [action(one, columns) for one in files],
        mode=mode,
        schema=table.schema(),
        commit_properties=CommitProperties(custom_metadata=told, app_transactions=transactions),
    )
    table.update_incremental()  # for this commit, and for later commits of others
    return Written(table.version(), len(files), rows, size)


def action(file: NewFile, columns: StatisticsColumns) -> AddAction:
    """The action that adds a file to a table."""
    stats = json.dumps(statistics(file, columns), ensure_ascii=False)
    return AddAction(file.name, file.size_bytes, {}, file.modified, True, stats)


def _next_transaction(table: DeltaTable, application: str) -> Transaction:
    last = table.transaction_version(application)
    return Transaction(application, 0 if last is None else last + 1)
