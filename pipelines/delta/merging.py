"""Rows of the driver brought into a table by their keys, by delta-rs: for what few rows change."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pipelines.delta.tables import Merged
from pipelines.lake import Lake
from pipelines.lake.delta_rs import WRITER, open_table
from pipelines.tables.contract import Contract


def merge_values(
    lake: Lake,
    contract: Contract,
    rows: pa.Table,
    seen: int,
    *,
    columns: Sequence[str],
    where: str | None = None,
) -> Merged:
    """Adds the rows whose keys the table lacks, and sets `columns` of those that it has: in one
    commit, none where there are no rows.

    rows: in the contract's Arrow schema, their keys unique and none of them NULL. seen: the version
    of the table by which the rows were made. where: what rows of the table, `t`, that can match
    fulfil, in SQL with literals, by which files are left out. deltalake's errors for the commit.
    """
    if not rows.num_rows:
        return Merged(0, 0, 0)
    equal = " AND ".join(f't."{key}" = s."{key}"' for key in contract.keys)
    table = open_table(lake.table_uri(contract.name), seen)
    merging = table.merge(
        rows,
        equal if where is None else f"{equal} AND {where}",
        source_alias="s",
        target_alias="t",
        writer_properties=WRITER,
    )
    merging = merging.when_matched_update({f'"{name}"': f's."{name}"' for name in columns})
    told = merging.when_not_matched_insert_all().execute()
    return Merged(
        inserted=told["num_target_rows_inserted"],
        updated=told["num_target_rows_updated"],
        deleted=told["num_target_rows_deleted"],
    )
