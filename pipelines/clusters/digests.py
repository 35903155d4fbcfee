"""A digest for each cluster, which shows whether its rows of bronze have changed since a build.

Records are only ever added. So for the tables with records the digest is made from the names of the
files that hold a cluster's rows, and the files aren't read. The other tables are far smaller, and a
merge rewrites files in which most rows stay. For these tables it is made from the rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from pipelines.delta.small import content
from pipelines.quality.unbroken import QueryableTables
from pipelines.tables import bronze
from pipelines.tables.contract import Contract

_GROWING = (bronze.LOG_RECORDS, bronze.SNAPSHOT_RECORDS)


def digests_of(layer: QueryableTables, clusters: Sequence[str]) -> dict[str, str]:
    """Digests by cluster_id, in hexadecimal: equal digests of two builds mean equal rows in all
    tables of bronze.DERIVED_FROM. layer: bronze. Raises what delta-rs raises."""
    digests = {cluster_id: hashlib.sha256() for cluster_id in clusters}
    for contract in bronze.DERIVED_FROM:
        table = layer.tables[contract.name]
        of_files = contract in _GROWING and _tells_by_its_files(table)
        told = _files(table, clusters) if of_files else _rows(table, contract)
        for cluster_id, text in told:
            digests[cluster_id].update(f"{contract.name} {len(text)} ".encode() + text)
    return {cluster_id: digest.hexdigest() for cluster_id, digest in digests.items()}


def _tells_by_its_files(table: DeltaTable) -> bool:
    """Whether rows of the table come and go only with their files."""
    return "deletionVectors" not in (table.protocol().reader_features or ())


def _files(table: DeltaTable, clusters: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """For each cluster the names of the files that may hold rows of it: all files except those
    whose least and greatest cluster_id in the table's log leave it out."""
    actions = pa.table(table.get_add_actions(flatten=True))
    unknown = [None] * actions.num_rows
    least, greatest = (
        actions[name].to_pylist() if name in actions.column_names else unknown
        for name in ("min.cluster_id", "max.cluster_id")
    )
    files = [*zip(actions["path"].to_pylist(), least, greatest, strict=True)]
    for cluster_id in clusters:
        mine = (
            str(path)
            for path, low, high in files
            if low is None or high is None or low <= cluster_id <= high
        )
        yield cluster_id, "\n".join(sorted(mine)).encode()


def _rows(table: DeltaTable, contract: Contract) -> Iterator[tuple[str, bytes]]:
    """For each cluster its rows, in an order that depends on nothing but the rows."""
    rows = content(table, contract)
    keys = dict.fromkeys(("cluster_id", *contract.keys))
    rows = rows.sort_by([(key, "ascending") for key in keys]).combine_chunks()
    found = rows["cluster_id"].to_numpy()
    bounds = [0, *(np.flatnonzero(found[1:] != found[:-1]) + 1), len(found)]
    for start, end in pairwise(bounds if len(found) else ()):
        # copied, because the bits of a slice may belong to its neighbour
        mine = rows.take(pa.array(np.arange(start, end)))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, mine.schema) as writer:
            writer.write_table(mine.combine_chunks())
        yield str(found[start]), sink.getvalue().to_pybytes()
