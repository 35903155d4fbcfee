"""What the derived tables of one cluster are made from, besides its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipelines.cluster.batches import Batches
from pipelines.cluster.cluster_tables import ClusterTables
from pipelines.cluster.rows import Row
from pipelines.silver.log_runs import rows_of_runs
from pipelines.tables import bronze
from pipelines.tables.keys import replica_of


@dataclass(frozen=True)
class BronzeRows:
    """The rows of one cluster in bronze's tables, with the tables' columns. batches: the runs of
    its batches, each in the place of a batch. found: bronze.findings."""

    captures: Sequence[Row]
    batches: Batches
    snapshots: Sequence[Row]
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
    def of(tables: ClusterTables, runs: pa.Table) -> BronzeRows:
        """The rows of a cluster. runs: its rows of silver.log_runs."""
        return BronzeRows(
            tables.rows(bronze.CAPTURES),
            Batches.of(rows_of_runs(runs)),
            tables.rows(bronze.SNAPSHOTS),
            tables.rows(bronze.REPLICA_STATE),
            tables.rows(bronze.FINDINGS),
        )
