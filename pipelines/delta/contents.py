"""Replaces the content of tables in this process, piece by piece, without Spark.

Rows have the types of the table's contract; a VARIANT is struct<value, metadata>. Memory holds only
a few pieces at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from pipelines.delta.small import content, of_clusters
from pipelines.delta.writing import merger, replace_values
from pipelines.lake import Lake
from pipelines.lake.delta_rs import WRITER, open_table, rows_of
from pipelines.tables.contract import Contract

Row = dict[str, Any]

_IS_GONE = "_is_gone"
_ROWS_AT_ONCE = 50_000
_ROWS_OF_A_FILE = 10_000
"""The least rows of a file, except the last one. A cluster with as many rows has files of its own,
so changes of other clusters don't rewrite them."""


@dataclass(frozen=True)
class ClusterRows:
    """All rows that some clusters shall have in a table. held: the rows, in the contract's types,
    or the path of a file that holds them in Arrow's format."""

    clusters: tuple[str, ...]
    held: pa.Table | str

    def read(self) -> pa.Table:
        """The rows. Raises OSError."""
        if isinstance(self.held, pa.Table):
            return self.held
        with pa.memory_map(self.held) as source:
            return pa.ipc.open_file(source).read_all()


def put(
    lake: Lake, contract: Contract, pieces: Iterable[ClusterRows], kept: Sequence[str] = ()
) -> None:
    """Replaces the rows of the pieces' clusters in the table by the rows of the pieces, whose keys
    must be unique. ensure_table has made the table. Rows of the clusters in `kept` stay, and rows
    of all other clusters are deleted.

    Where nothing changes there is no commit. A table with a change data feed gets only the
    difference, so its feed has only new, deleted and changed rows. Raises UnwritableFileError,
    OSError, and deltalake's errors for the commit.
    """
    table = open_table(lake.table_uri(contract.name))
    if not table.file_uris():
        replace_values(lake, contract, (one.read() for one in joined(pieces, _ROWS_OF_A_FILE)))
        return
    pieces = [*pieces]
    known = {*kept, *chain.from_iterable(one.clusters for one in pieces)}
    there = {row["cluster_id"] for row in rows_of(table, "SELECT DISTINCT cluster_id FROM t")}
    gone = sorted(there - known)
    if contract.change_feed:
        _change(table, contract, pieces, gone)
    else:
        _replace(lake, table, contract, pieces, gone)


def put_all(lake: Lake, contract: Contract, rows: pa.Table) -> None:
    """Replaces the whole content of the table as `put` does. rows: those of all clusters."""
    clusters = tuple(rows["cluster_id"].unique().to_pylist())
    put(lake, contract, [ClusterRows(clusters, rows)])


def joined(pieces: Iterable[ClusterRows], least: int) -> Iterator[ClusterRows]:
    """The pieces, where neighbours are joined so that each piece except the last has at least
    `least` rows."""
    waiting: list[ClusterRows] = []
    count = 0
    for piece in pieces:
        rows = piece.read()
        waiting.append(ClusterRows(piece.clusters, rows))
        count += rows.num_rows
        if count >= least:
            yield _as_one(waiting)
            waiting, count = [], 0
    if waiting:
        yield _as_one(waiting)


def _as_one(pieces: Sequence[ClusterRows]) -> ClusterRows:
    return ClusterRows(
        tuple(chain.from_iterable(one.clusters for one in pieces)),
        pa.concat_tables([one.read() for one in pieces]),
    )


def _replace(
    lake: Lake,
    table: DeltaTable,
    contract: Contract,
    pieces: Sequence[ClusterRows],
    gone: Sequence[str],
) -> None:
    """Replaces the rows of each cluster of which a row differs. gone: clusters whose rows are
    deleted."""
    found = _differing(table, contract, pieces)
    differing = {cluster_id for some, _ in found for cluster_id in some.clusters}
    if not differing and not gone:
        return
    leaving = of_clusters(sorted({*differing, *gone}))
    query = f"SELECT count(*) AS staying FROM t WHERE NOT ({leaving})"  # noqa: S608 - our own text
    (count,) = rows_of(table, query)
    changed = (one for one in pieces if not differing.isdisjoint(one.clusters))
    new = (some.read() for some in joined(changed, _ROWS_OF_A_FILE))
    if not count["staying"]:
        replace_values(lake, contract, new)
        return
    batches = (batch for rows in new for batch in rows.to_batches())
    write_deltalake(
        table,
        pa.RecordBatchReader.from_batches(contract.arrow_schema, batches),
        mode="overwrite",
        predicate=leaving,
        writer_properties=WRITER,
    )


def _differing(
    table: DeltaTable, contract: Contract, pieces: Iterable[ClusterRows]
) -> Iterator[tuple[ClusterRows, pa.Table]]:
    """Some neighbouring pieces at a time, joined: those whose rows differ from the rows of these
    clusters in the table, which come with them. The order of rows makes no difference."""
    for some in joined(pieces, _ROWS_AT_ONCE):
        held, rows = content(table, contract, of_clusters(some.clusters)), some.read()
        is_same_size = held.num_rows == rows.num_rows
        if not is_same_size or not _in_order(contract, held).equals(_in_order(contract, rows)):
            yield some, held


def _in_order(contract: Contract, rows: pa.Table) -> pa.Table:
    return rows.sort_by([(key, "ascending") for key in contract.keys]).combine_chunks()


def _change(
    table: DeltaTable, contract: Contract, pieces: Iterable[ClusterRows], gone: Sequence[str]
) -> None:
    """Changes only the rows that differ, in one commit. gone: clusters whose rows are deleted."""
    changes: list[Row] = []
    touched = [*gone]
    for some, held in _differing(table, contract, pieces):
        changes += _differences(contract, held.to_pylist(), some.read().to_pylist())
        touched += some.clusters
    if gone:
        changes += _differences(contract, content(table, contract, of_clusters(gone)).to_pylist())
    if changes:
        _merge(table, contract, changes, touched)


def _differences(
    contract: Contract, held: Iterable[Row], wanted: Iterable[Row] = ()
) -> Iterator[Row]:
    key_of = itemgetter(*contract.keys)
    before, after = ({key_of(row): row for row in rows} for rows in (held, wanted))
    for key, row in after.items():
        if before.get(key) != row:
            yield row | {_IS_GONE: False}
    for key, row in before.items():
        if key not in after:
            yield row | {_IS_GONE: True}


def _merge(
    table: DeltaTable, contract: Contract, changes: Sequence[Row], clusters: Sequence[str]
) -> None:
    """Merges the changes. clusters: those of the changes, so that files of other clusters aren't
    read."""
    schema = contract.arrow_schema.append(pa.field(_IS_GONE, pa.bool_()))
    columns = {name: f's."{name}"' for name in contract.column_names}
    equal = " AND ".join(
        f'(t."{key}" = s."{key}" OR (t."{key}" IS NULL AND s."{key}" IS NULL))'
        for key in contract.keys
    )
    rows = pa.Table.from_pylist([*changes], schema)
    merging = merger(table, rows, f"t.{of_clusters(clusters)} AND {equal}")
    merging = merging.when_matched_delete(f"s.{_IS_GONE}").when_matched_update(columns)
    merging.when_not_matched_insert(columns).execute()
