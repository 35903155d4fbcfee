"""The rows of bronze from which the derived tables of one cluster are made, besides its records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipelines.cluster.batches import Batches
from pipelines.cluster.cluster_tables import ClusterTables
from pipelines.cluster.rows import Row
from pipelines.finding_rows import finding_of, finding_row
from pipelines.silver.log_runs import rows_of_runs
from pipelines.tables import bronze
from pipelines.tables.keys import replica_of
from replica.doctor.check.catalogue.log import UNKNOWN_RECORD_TYPE, VENDOR_RECORD_TYPE
from replica.doctor.check.formatted import WITHOUT_LOG
from replica.doctor.check.record_findings import without_passed_over
from replica.metadata.passed_over import PassedOver

_OF_UNKNOWN_TYPES = (UNKNOWN_RECORD_TYPE.id, VENDOR_RECORD_TYPE.id)


@dataclass(frozen=True)
class BronzeRows:
    """The rows of one cluster in bronze's tables, with the tables' columns."""

    captures: Sequence[Row]
    """The captures without those of log directories that were formatted and never started; these
    are in `formatted`."""
    batches: Batches
    """The runs of the cluster's batches. Each run takes the place of a batch."""
    snapshots: Sequence[Row]
    state: Sequence[Row]
    findings: Sequence[Row]
    """The rows of bronze.findings about `captures`, as they are for a replay that passes over some
    types of records."""
    formatted: Sequence[Row] = ()

    @property
    def whole_captures(self) -> Sequence[Row]:
        """The captures that show a replica's whole log. For a replica without such a capture, all
        its captures: there may be only single files of a node, or a recorder's archive."""
        known = {replica_of(row) for row in self.captures if not row["is_fragment"]}
        return [
            row for row in self.captures if not row["is_fragment"] or replica_of(row) not in known
        ]

    @staticmethod
    def of(tables: ClusterTables, runs: pa.Table) -> BronzeRows:
        """The rows of a cluster. runs: its rows of silver.log_runs."""
        found = [_passing_over(tables.passed_over, row) for row in tables.rows(bronze.FINDINGS)]
        formatted = {row["capture_id"] for row in found if row["rule"] in WITHOUT_LOG}

        def divided(rows: Sequence[Row], *, is_formatted: bool = False) -> list[Row]:
            return [row for row in rows if (row["capture_id"] in formatted) is is_formatted]

        captures = tables.rows(bronze.CAPTURES)
        return BronzeRows(
            divided(captures),
            Batches.of(rows_of_runs(runs)),
            tables.rows(bronze.SNAPSHOTS),
            divided(tables.rows(bronze.REPLICA_STATE)),
            divided(found),
            divided(captures, is_formatted=True),
        )


def _passing_over(passed_over: PassedOver, row: Row) -> Row:
    """The row of a finding that an ingest made, changed for a replay that passes
    over these types."""
    if not passed_over or row["rule"] not in _OF_UNKNOWN_TYPES:
        return row
    return {**row, **finding_row(without_passed_over(finding_of(row), passed_over))}
