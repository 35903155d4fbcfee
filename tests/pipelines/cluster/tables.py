"""Bronze's tables of rows made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from pipelines.cluster.rows import Row
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from tests.pipelines.cluster.batch_rows import log_batches


def bronze_tables(rows: Mapping[Contract, Iterable[Row]]) -> dict[Contract, pa.Table]:
    """All tables that silver and gold are made from. Columns that a row lacks are NULL, except in
    bronze.log_batches, where they get usual values."""
    return {one: _table(one, rows.get(one, ())) for one in bronze.DERIVED_FROM}


def _table(contract: Contract, rows: Iterable[Row]) -> pa.Table:
    if contract is bronze.LOG_BATCHES:
        return log_batches(rows)
    named = ({name: row.get(name) for name in contract.column_names} for row in rows)
    return pa.Table.from_pylist([*named], contract.arrow_schema)
