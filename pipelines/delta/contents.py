"""The whole content of a table in this process, as Arrow, without Spark.

Columns have the types of the table's contract; a VARIANT is struct<value, metadata>.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from pipelines.delta.replacing import replace_values
from pipelines.delta.small import content
from pipelines.lake import Lake
from pipelines.lake.delta_rs import WRITER, open_table
from pipelines.tables.contract import Contract

Row = dict[str, Any]

_IS_GONE = "_is_gone"


def content_of(lake: Lake, contract: Contract, version: int | None = None) -> pa.Table:
    """The rows of the table, which must be there, at a version, by default the newest.

    Raises what delta-rs raises: just Exception where a data file is gone.
    """
    return content(open_table(lake.table_uri(contract.name), version), contract)


def put(lake: Lake, contract: Contract, rows: pa.Table) -> None:
    """Makes `rows`, whose keys must be unique, the whole content of the table, which ensure_table
    has made.

    Where they are its content already there is no commit. A table with a change data feed is
    changed by what differs, so that its feed has new, vanished and changed rows alone. Raises
    UnwritableFileError, and deltalake's errors for the commit.
    """
    held = content_of(lake, contract)
    if _in_order(contract, held).equals(_in_order(contract, rows)):
        return
    if contract.change_feed and held.num_rows:
        _change(lake, contract, held.to_pylist(), rows.to_pylist())
    else:
        replace_values(lake, contract, rows)


def _in_order(contract: Contract, rows: pa.Table) -> pa.Table:
    return rows.sort_by([(key, "ascending") for key in contract.keys]).combine_chunks()


def _change(lake: Lake, contract: Contract, held: Iterable[Row], wanted: Iterable[Row]) -> None:
    """Brings the table from rows to others by one commit."""
    before = {_key(contract, row): row for row in held}
    after = {_key(contract, row): row for row in wanted}
    changed = [row | {_IS_GONE: False} for key, row in after.items() if before.get(key) != row]
    gone = [row | {_IS_GONE: True} for key, row in before.items() if key not in after]
    schema = contract.arrow_schema.append(pa.field(_IS_GONE, pa.bool_()))
    columns = {name: f's."{name}"' for name in contract.column_names}
    equal = " AND ".join(
        f'(t."{key}" = s."{key}" OR (t."{key}" IS NULL AND s."{key}" IS NULL))'
        for key in contract.keys
    )
    merging = open_table(lake.table_uri(contract.name)).merge(
        pa.Table.from_pylist([*changed, *gone], schema),
        equal,
        source_alias="s",
        target_alias="t",
        writer_properties=WRITER,
    )
    merging = merging.when_matched_delete(f"s.{_IS_GONE}").when_matched_update(columns)
    merging.when_not_matched_insert(columns).execute()


def _key(contract: Contract, row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in contract.keys)
