"""The derived tables of some clusters, computed by this process or another one; and the findings
between clusters."""

from __future__ import annotations

import os
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cyclic_garbage import no_search_for_cycles
from pipelines.delta.contents import ClusterRows
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.derived import Silver
from pipelines.in_memory.membership import findings_of_rounds, with_neighbours
from pipelines.in_memory.rows import Row
from pipelines.nodes import Content, small_tables
from pipelines.quality.admitted import Admitted
from pipelines.tables import bronze
from pipelines.tables.contract import Contract

_INLINE_BYTES = 16 * 1024
"""The most bytes of rows that a process hands over directly. More rows go through a file."""


@dataclass(frozen=True)
class ClusterBatch:
    """Clusters that are computed together. folder: holds the files of their rows where these are
    many. most_offsets: the most offsets of one cluster."""

    admitted: Admitted
    clusters: tuple[str, ...]
    folder: str
    most_offsets: int


def neighbours(records: Mapping[str, int], at_once: int) -> list[tuple[str, ...]]:
    """The clusters in groups. A group has at most `at_once` records, or it is a single cluster.
    records: the number of records of each cluster, by cluster_id."""
    groups: list[list[str]] = []
    size = 0
    for cluster_id, count in records.items():
        if not groups or size + count > at_once:
            groups.append([])
            size = 0
        groups[-1].append(cluster_id)
        size += count
    return [tuple(clusters) for clusters in groups]


def compute(part: ClusterBatch) -> dict[str, ClusterRows] | None:
    """The rows of silver's and gold's tables, by the table's name, without the findings between
    clusters.

    None where Spark has to compute them: a cluster's batches claim too many offsets, or a data file
    can't be read, and Spark's error says more. Raises OSError where the folder refuses a file.
    """
    try:
        content = [part.admitted.rows_of(one, part.clusters) for one in bronze.DERIVED_FROM]
    except Exception:  # noqa: BLE001 - delta-rs raises just that where a data file is gone
        return None
    made: defaultdict[str, list[pa.Table]] = defaultdict(list)
    with no_search_for_cycles():
        for cluster_id in part.clusters:
            rows = BronzeRows.of(cluster_id, content)
            batches = rows.batches
            offsets = np.maximum(batches.entries_end - batches.base_offset, 0)
            if offsets.sum() > part.most_offsets:
                return None
            for contract, some in small_tables(Silver(cluster_id, rows)):
                made[contract.name].append(table_of(contract, some))
    return {
        name: ClusterRows(part.clusters, _kept(pa.concat_tables(tables), part.folder))
        for name, tables in made.items()
    }


def table_of(contract: Contract, content: Content) -> pa.Table:
    """The rows in the contract's columns and types."""
    if isinstance(content, pa.Table):
        return content.select(contract.column_names).cast(contract.arrow_schema)
    rows = [*content]
    columns = {name: [row[name] for row in rows] for name in contract.column_names}
    return pa.Table.from_pydict(columns, contract.arrow_schema)


def _kept(rows: pa.Table, folder: str) -> pa.Table | str:
    if rows.nbytes <= _INLINE_BYTES:
        return rows
    path = os.path.join(folder, f"{uuid.uuid4()}.arrow")
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, rows.schema, options=options) as file:
        file.write_table(rows)
    return path


_CLUSTERS_AT_ONCE = 10


def findings_between(admitted: Admitted) -> list[Row]:
    """The findings between clusters of one round. Raises what delta-rs raises."""
    captures = admitted.rows_of(bronze.CAPTURES)
    neighbours = with_neighbours(captures.select(["ingest_seq", "cluster_id"]).to_pylist())
    return findings_of_rounds(_compared(admitted, captures, neighbours), neighbours)


def _compared(
    admitted: Admitted, captures: pa.Table, neighbours: Collection[str]
) -> Iterator[Silver]:
    """The clusters with those of their rows of bronze that findings_of_rounds needs."""
    content = {one: one.arrow_schema.empty_table() for one in bronze.DERIVED_FROM}
    content[bronze.CAPTURES] = captures
    content[bronze.SNAPSHOT_RECORDS] = admitted.rows_where(bronze.SNAPSHOT_RECORDS, "is_control")
    content[bronze.REPLICA_STATE] = admitted.rows_of(bronze.REPLICA_STATE)
    clusters = pc.unique(captures["cluster_id"]).to_pylist()
    for start in range(0, len(clusters), _CLUSTERS_AT_ONCE):
        some = clusters[start : start + _CLUSTERS_AT_ONCE]
        compared = [one for one in some if one in neighbours]
        content[bronze.LOG_BATCHES] = admitted.rows_of(bronze.LOG_BATCHES, compared)
        for one in some:
            yield Silver(one, BronzeRows.of(one, content.values()))
