"""Commits what the units of a build made: one commit for each table, which replaces files by new
files."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction, RemoveAction

from pipelines.data_files import batches_of, remove_data_files
from pipelines.delta.committing import StatisticsColumns, action
from pipelines.delta.conforming import open_conforming
from pipelines.delta.few_rows import in_types
from pipelines.delta.writing import merger
from pipelines.dialects import DATA_FUSION
from pipelines.lake import Lake
from pipelines.new_file import NewFile
from pipelines.tables.contract import Contract

APPLICATION = "kraftlake-build"
"""Delta's application id of the commits of a build. The version of each transaction is the build's
number."""
IS_GONE = "_is_gone"
"""The column of a file with changes that marks rows to delete."""


@dataclass(frozen=True, slots=True)
class Made:
    """The files that a unit of a build wrote for one table."""

    table: str
    files: tuple[NewFile, ...] = ()
    """New files of the table."""
    replaces: tuple[str, ...] = ()
    """The names of files that the pinned version of the table has, and the new version lacks."""
    changes: tuple[NewFile, ...] = ()
    """For a table with a change data feed: files of rows to update, or (IS_GONE) to delete; `files`
    has the rows to insert."""


def commit_units(
    lake: Lake, contract: Contract, made: Sequence[Made], seen: int, build: int
) -> None:
    """Commits the files that the units wrote for a table; makes no commit where nothing changed. A
    table with a change data feed gets the rows that differ, so its feed has only new, deleted and
    changed rows.

    seen: the version of the table that the units read. build: the build's number; a build that has
    committed to the table already commits nothing again. Raises deltalake's errors, as where
    another writer has changed the table since that version.
    """
    table = open_conforming(lake, contract)
    if (table.transaction_version(APPLICATION) or -1) >= build:
        return
    if table.version() != seen:
        table = open_conforming(lake, contract, seen)
    files = [file for one in made for file in one.files]
    gone = [name for one in made for name in one.replaces]
    changes = [file for one in made for file in one.changes]
    if changes:
        _merge(lake, table, contract, files, changes, build)
    elif files or gone:
        _exchange(table, contract, files, gone, build)


def properties(build: int, files: Iterable[NewFile] = ()) -> CommitProperties:
    """The properties of a commit of a build."""
    some = [*files]
    metrics = {
        "numFiles": len(some),
        "numOutputRows": sum(one.row_count for one in some),
        "numOutputBytes": sum(one.size_bytes for one in some),
    }
    told = {"operationMetrics": {name: str(value) for name, value in metrics.items()}}
    return CommitProperties(
        custom_metadata=told, app_transactions=[Transaction(APPLICATION, build)]
    )


def _exchange(
    table: DeltaTable,
    contract: Contract,
    files: Sequence[NewFile],
    gone: Sequence[str],
    build: int,
) -> None:
    columns = StatisticsColumns.of_contract(contract.schema)
    now = int(time.time() * 1000)
    sizes = _sizes(table) if gone else {}
    actions: list[AddAction | RemoveAction] = [action(one, columns) for one in files]
    actions += [RemoveAction(one, True, now, sizes[one], {}) for one in dict.fromkeys(gone)]
    table.create_write_transaction(
        actions,
        mode="append",
        schema=table.schema(),
        commit_properties=properties(build, files),
    )


def _sizes(table: DeltaTable) -> dict[str, int]:
    found = pa.table(table.get_add_actions())
    return dict(zip(found["path"].to_pylist(), found["size_bytes"].to_pylist(), strict=True))


def _merge(
    lake: Lake,
    table: DeltaTable,
    contract: Contract,
    files: Sequence[NewFile],
    changes: Sequence[NewFile],
    build: int,
) -> None:
    """Merges new, changed and deleted rows in one commit, and removes the files from which these
    rows came."""
    folder = lake.path_of(contract)
    schema = contract.arrow_schema.append(pa.field(IS_GONE, pa.bool_()))
    names = [one.name for one in (*files, *changes)]
    rows = pa.RecordBatchReader.from_batches(schema, _rows(folder, names, schema))
    equal = " AND ".join(
        f"(t.{key} = s.{key} OR (t.{key} IS NULL AND s.{key} IS NULL))"
        for key in map(DATA_FUSION.identifier, contract.keys)
    )
    columns = {name: f's."{name}"' for name in contract.column_names}
    try:
        merging = merger(table, rows, equal, properties(build))
        merging = merging.when_matched_delete(f"s.{IS_GONE}").when_matched_update(columns)
        merging.when_not_matched_insert(columns).execute()
    finally:
        remove_data_files(folder, names)


def _rows(folder: str, names: Sequence[str], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches_of(folder, names):
        rows = pa.Table.from_batches([batch])
        if IS_GONE not in rows.column_names:
            rows = rows.append_column(IS_GONE, pa.repeat(pa.scalar(False), rows.num_rows))
        yield from in_types(rows, schema).to_batches()
