"""What a job changed in a lake, read from the tables' Delta logs: so no job has to tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.dataset as ds

from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_versions, open_if_there
from pipelines.tables.bronze import BRONZE
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUALITY_RESULTS
from pipelines.tables.of_a_lake import DERIVED

TABLES = (*BRONZE, *DERIVED)

_OF_MERGE = ("numTargetRowsInserted", "numTargetRowsUpdated")
_OF_WRITE = ("numOutputRows", "num_added_rows")
"""Operation metrics in a table's history: Delta's, and delta-rs' name of the same. A MERGE counts
the rows that it only copied among its output."""


@dataclass(frozen=True)
class TableState:
    """A table at a version; rows: written since an earlier version, NULL where not asked for."""

    contract: Contract
    version: int
    rows: int | None = None


@dataclass(frozen=True)
class Assertion:
    """A row of gold.quality_results, as far as events tell it."""

    table: str
    expectation: str
    meaning: str
    columns: tuple[str, ...]
    action: str
    success: bool
    unexpected_rows: int


def versions(lake: Lake) -> dict[str, int]:
    """The newest version of each table that the lake has, by table name."""
    return newest_versions(lake, (contract.name for contract in TABLES))


def changed(lake: Lake, before: Mapping[str, int]) -> list[TableState]:
    """The tables with commits since, and the rows that these wrote."""
    states = []
    for contract in TABLES:
        table = open_if_there(lake, contract.name)
        known = before.get(contract.name, -1)
        if table is not None and table.version() > known:
            commits = [one for one in table.history() if one["version"] > known]
            rows = sum(rows_written(one.get("operationMetrics") or {}) for one in commits)
            states.append(TableState(contract, table.version(), rows))
    return states


def rows_written(metrics: Mapping[str, Any]) -> int:
    """Rows that a commit added or changed, by its operation metrics."""
    names = _OF_MERGE if _OF_MERGE[0] in metrics else _OF_WRITE
    return sum(int(metrics.get(name) or 0) for name in names)


def assertions(lake: Lake, run_id: str) -> list[Assertion]:
    """The results of the run, from gold.quality_results; none where it judged nothing."""
    table = open_if_there(lake, QUALITY_RESULTS.name)
    if table is None:
        return []
    rows = table.to_pyarrow_dataset().to_table(filter=ds.field("run_id") == run_id)
    return [
        Assertion(
            row["table_name"],
            row["expectation"],
            row["meaning"],
            tuple(row["columns"]),
            row["action"],
            row["success"],
            row["unexpected_rows"],
        )
        for row in rows.to_pylist()
    ]
