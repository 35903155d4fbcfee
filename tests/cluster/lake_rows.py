"""Every row of a lake's tables, so that two lakes can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from pipelines.tables.bronze import CAPTURES
from pipelines.tables.contract import Contract

Rows = dict[str, list[str]]
"""By the table's name: each row as text, sorted."""
_OF_A_RUN = {"gold.quality_results": ("run_id", "at"), "gold.quarantined_rows": ("run_id", "at")}
"""Columns about the run that wrote the rows."""


def rows_of(lake: Path, contracts: tuple[Contract, ...]) -> Rows:
    """The rows of the tables. The times at which captures were ingested are replaced by their
    order."""
    orders = _order_of_captures(lake)
    return {one.name: _rows(lake, one, orders) for one in contracts}


def _order_of_captures(lake: Path) -> Mapping[datetime, str]:
    table = read_table(lake, CAPTURES)
    moments = sorted(set(table.column("captured_at").to_pylist()))
    return {moment: f"capture {number}" for number, moment in enumerate(moments)}


def _rows(lake: Path, contract: Contract, orders: Mapping[datetime, str]) -> list[str]:
    table = read_table(lake, contract)
    names = sorted({*table.column_names} - {*_OF_A_RUN.get(contract.name, ())})
    columns = [table.column(name).to_pylist() for name in names]
    found = []
    for row in zip(*columns, strict=True):
        values = zip(names, row, strict=True)
        found.append(repr({name: _ordered(value, orders) for name, value in values}))
    return sorted(found)


def _ordered(value: Any, orders: Mapping[datetime, str]) -> Any:
    """The value, in which the captures' times, at any depth, are replaced by their order."""
    if isinstance(value, datetime):
        return orders.get(value, value)
    if isinstance(value, list):
        return [_ordered(one, orders) for one in value]
    if isinstance(value, dict):
        return {name: _ordered(one, orders) for name, one in value.items()}
    return value


def read_table(lake: Path, contract: Contract) -> pa.Table:
    """The whole table, by delta-rs."""
    table = DeltaTable(str(lake / contract.schema_name / contract.table_name))
    return pa.table(QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all())
