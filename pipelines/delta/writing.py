"""Writes rows of the driver into a table: Parquet files, and one commit by delta-rs.

Spark's own writer runs five to eight jobs, to plan and to read what it wrote. For a small table
these jobs take far longer than to write its rows. A merge by delta-rs is for changes of few rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.table import TableMerger

from pipelines.delta.committing import INGEST, WriteTarget, Written, commit
from pipelines.delta.conforming import open_conforming
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.lake import Lake
from pipelines.lake.delta_rs import WRITER, readable
from pipelines.new_file import NewFile
from pipelines.tables.contract import Contract
from replica.errors import writing


def add_values(
    lake: Lake,
    contract: Contract,
    values: Sequence[Mapping[str, Any]],
    applications: Sequence[str] = (),
    seen: int | None = None,
    also: Sequence[Transaction] = (),
) -> Written:
    """Adds rows in one commit. values: the rows, each as column name to value.

    applications, also: as in pipelines.delta.committing.commit. seen: the version in which the
    caller saw that the rows are missing: a writer that committed since then may have added them;
    None stands for the newest one.
    Raises UnwritableFileError where a file can't be written, and deltalake's errors for the commit.
    After a write that fails nothing refers to its files: VACUUM removes them.
    """
    rows = pa.Table.from_pylist([*values], contract.arrow_schema)
    files = _files(lake, contract, rows)
    return commit(lake, contract, files, "append", applications, seen, also)


def replace_values(lake: Lake, contract: Contract, values: Iterable[pa.Table]) -> Written:
    """Replaces the whole content of a table in one commit. The table must exist (ensure_table).

    values: the new rows, in the columns and types of the contract. Each of these Arrow tables
    becomes a file. Where the table is empty and no row is given, nothing is committed. Raises the
    errors of `add_values`.
    """
    files = [file for rows in values for file in _files(lake, contract, rows)]
    return commit(lake, contract, files, "overwrite")


def _files(lake: Lake, contract: Contract, rows: pa.Table) -> list[NewFile]:
    """Writes the rows into a file. Gives the file, or no file where there are no rows."""
    target = WriteTarget.of(lake, contract)
    with writing(target.folder):
        file = target.write(rows.to_batches())
    return [] if file is None else [file]


def merge_values(
    lake: Lake,
    contract: Contract,
    rows: pa.Table,
    seen: int,
    *,
    columns: Sequence[str],
    where: Sql | None = None,
) -> int:
    """Adds the rows whose keys the table lacks, and sets `columns` of the rows that the table has,
    in one commit of an ingest. Without rows there is no commit. Gives the number of added rows.

    rows: in the contract's Arrow schema, with unique keys without NULL. seen: the version of the
    table by which the rows were made. where: SQL condition with literals that all matching rows of
    the table, `t`, fulfil; delta-rs skips files by it. Raises deltalake's errors for the commit.
    """
    if not rows.num_rows:
        return 0
    equal = " AND ".join(f"t.{key} = s.{key}" for key in map(DATA_FUSION.identifier, contract.keys))
    table = open_conforming(lake, contract, seen)
    matches = equal if where is None else f"{equal} AND {where}"
    merging = merger(table, rows, matches, CommitProperties(custom_metadata={**INGEST}))
    merging = merging.when_matched_update({f'"{name}"': f's."{name}"' for name in columns})
    told = merging.when_not_matched_insert_all().execute()
    return int(told["num_target_rows_inserted"])


def merger(
    table: DeltaTable,
    rows: pa.Table | pa.RecordBatchReader,
    where: str,
    properties: CommitProperties | None = None,
) -> TableMerger:
    """A merge by delta-rs. The caller says what happens to equal and to new rows. where: SQL
    condition that matches a row of the table, `t`, with one of `rows`, `s`. properties: the
    properties of the commit."""
    return readable(table).merge(
        rows,
        where,
        source_alias="s",
        target_alias="t",
        writer_properties=WRITER,
        commit_properties=properties,
    )
