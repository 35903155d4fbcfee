"""Merges rows of the driver into a table by their keys, by delta-rs: for changes of few rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

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
) -> int:
    """Adds the rows whose keys the table lacks, and sets `columns` of the rows that it has: in one
    commit, or none where there are no rows. Gives the number of added rows.

    rows: in the contract's Arrow schema, with unique keys without NULL. seen: the version of the
    table by which the rows were made. where: SQL condition with literals that all matching rows of
    the table, `t`, fulfil; by it files are left out. Raises deltalake's errors for the commit.
    """
    if not rows.num_rows:
        return 0
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
    return int(told["num_target_rows_inserted"])
