"""Whether two lakes hold the same rows."""

from __future__ import annotations

import pyarrow as pa

from pipelines.delta.few_rows import content
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_table
from pipelines.lake.tables import tables_of
from pipelines.tables.bronze import LAKE_VERSIONS
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUALITY
from pipelines.tables.of_a_lake import TABLES

OF_A_RUN = (LAKE_VERSIONS, *QUALITY)
"""Tables about runs, not about clusters."""


def differing_tables(one: Lake, other: Lake) -> tuple[int, list[str]]:
    """The number of tables that both lakes should have alike, and the names of those that differ.
    Raises what delta-rs raises, and the errors of tables_of."""
    names = {*tables_of(one), *tables_of(other)}
    compared = [table for table in TABLES if table.name in names and table not in OF_A_RUN]
    return len(compared), [table.name for table in compared if not _is_same(one, other, table)]


def _is_same(one: Lake, other: Lake, contract: Contract) -> bool:
    if any(contract.name not in tables_of(lake) for lake in (one, other)):
        return False
    a, b = (_in_order(lake, contract) for lake in (one, other))
    return bool(a.equals(b))


def _in_order(lake: Lake, contract: Contract) -> pa.Table:
    rows = content(open_table(lake.table_uri(contract.name)), contract)
    return rows.sort_by([(key, "ascending") for key in contract.keys]).combine_chunks()
