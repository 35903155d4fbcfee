"""Small data files of a table joined into larger ones, by delta-rs alone.

An hourly ingest adds a file or more to each table of bronze. Each open of a table, and each query,
takes time for each file. `maintain` does the same by Spark, and then deletes what isn't needed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import RemoveAction

from pipelines.data_files import batches_of
from pipelines.delta.committing import COMPACTED, StatisticsColumns, WriteTarget, action
from pipelines.delta.conforming import open_conforming
from pipelines.delta.few_rows import in_types
from pipelines.lake import Lake
from pipelines.tables.contract import Contract
from pipelines.tables.keys import REPLICA_KEYS

_LEAST_FILES = 8
"""Fewer small files than this are left as they are."""
_SMALL_BYTES = 16 * 1024**2
_MOST_BYTES = 64 * 1024**2
"""The most bytes of files that are joined into one."""
_BOUNDS = [f"{bound}.{name}" for name in REPLICA_KEYS for bound in ("min", "max")]


def compact(lake: Lake, contract: Contract) -> int:
    """Joins the small files of each replica, and the small files that several replicas of a cluster
    share. The rows stay as they are. Gives the number of replaced files; 0 where another writer
    changes the table meanwhile. Raises the errors of WriteTarget.write, and deltalake's."""
    table = open_conforming(lake, contract)
    small = _small_files(table)
    groups = [one for some in small.values() for one in _in_pieces(_without_large(some))]
    if not groups:
        return 0
    target, columns = WriteTarget.of(lake, contract), StatisticsColumns.of_contract(contract.schema)
    now = int(time.time() * 1000)
    added, gone = [], []
    for group in groups:
        file = target.write(_rows(target, [one["path"] for one in group]))
        if file is not None:
            added.append(replace(action(file, columns), data_change=False))
        gone += [RemoveAction(one["path"], False, now, one["size_bytes"], {}) for one in group]
    pa.default_memory_pool().release_unused()  # a stream's driver goes on for weeks
    try:
        table.create_write_transaction(
            [*added, *gone],
            mode="append",
            schema=table.schema(),
            commit_properties=CommitProperties(custom_metadata=COMPACTED),
        )
    except CommitFailedError:
        return 0
    return len(gone)


def _small_files(table: DeltaTable) -> Mapping[tuple[Any, ...], list[dict[str, Any]]]:
    """The small files that have rows of one replica alone, by replica; and those of one cluster
    alone, by cluster."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    actions = pa.table(table.get_add_actions(flatten=True))
    names = [name for name in ("path", "size_bytes", *_BOUNDS) if name in actions.column_names]
    for one in actions.select(names).to_pylist():
        bounds = [(one.get(f"min.{name}"), one.get(f"max.{name}")) for name in REPLICA_KEYS]
        key = tuple(low if low == high else None for low, high in bounds)
        if one["size_bytes"] < _SMALL_BYTES and key[0] is not None:
            found.setdefault(key, []).append(one)
    return found


def _without_large(files: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The files without those that are larger than all smaller ones together. So a row is rewritten
    only when its file at least doubles: a table of n rows rewrites each of them at most log2(n)
    times."""
    ascending = sorted(files, key=lambda one: (one["size_bytes"], one["path"]))
    smaller = sum(one["size_bytes"] for one in ascending)
    while ascending:
        smaller -= ascending[-1]["size_bytes"]
        if ascending[-1]["size_bytes"] <= smaller:
            break
        ascending.pop()
    return ascending


def _in_pieces(files: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The files in pieces of at least _LEAST_FILES files and at most _MOST_BYTES bytes; files for
    which there is no such piece are left out. The files of a piece are joined into one file."""
    piece: list[dict[str, Any]] = []
    size = 0
    for one in files:
        if size + one["size_bytes"] > _MOST_BYTES:
            yield from [piece] if len(piece) >= _LEAST_FILES else []
            piece, size = [], 0
        piece.append(one)
        size += one["size_bytes"]
    yield from [piece] if len(piece) >= _LEAST_FILES else []


def _rows(target: WriteTarget, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for batch in batches_of(target.folder, names):
        yield from in_types(pa.Table.from_batches([batch]), target.schema).to_batches()
