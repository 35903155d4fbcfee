"""The rows of one cluster in bronze's tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipelines.in_memory.batches import Batches
from pipelines.in_memory.rows import Row, of_cluster
from pipelines.tables.keys import replica_of


@dataclass(frozen=True)
class BronzeRows:
    """The rows of one cluster in the tables of bronze.DERIVED_FROM, in that order and with the
    tables' columns. Of a large cluster, records and snapshot_records are only the control records,
    without `payload`: Spark's workers replay the others."""

    captures: Sequence[Row]
    batches: Batches
    records: pa.Table
    snapshots: Sequence[Row]
    snapshot_records: pa.Table
    state: Sequence[Row]
    found: Sequence[Row]

    @property
    def whole_captures(self) -> Sequence[Row]:
        """The captures that show a replica's whole log. All captures of a replica where none does:
        of a node there may be single files alone, or a recorder's archive."""
        known = {replica_of(row) for row in self.captures if not row["is_fragment"]}
        return [
            row for row in self.captures if not row["is_fragment"] or replica_of(row) not in known
        ]

    @staticmethod
    def of(cluster_id: str, tables: Iterable[pa.Table]) -> BronzeRows:
        """The rows of one cluster. tables: those of bronze.DERIVED_FROM, in that order."""
        captures, batches, records, snapshots, snapshot_records, *others = (
            of_cluster(table, cluster_id) for table in tables
        )
        return BronzeRows(
            captures.to_pylist(),
            Batches.of(batches),
            records,
            snapshots.to_pylist(),
            snapshot_records,
            *(table.to_pylist() for table in others),
        )
