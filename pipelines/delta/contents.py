"""The whole content of a small table as rows of this process, without Spark.

Rows are dicts, column name to value: times are aware datetimes, a VARIANT is a dict of its two byte
strings, a map is a list of pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipelines.delta.lake import Lake
from pipelines.delta.replacing import replace_values
from pipelines.delta_rs import open_table, rows_of
from pipelines.lake_paths import table_uri
from pipelines.tables.contract import Contract

Row = dict[str, Any]

_IS_GONE = "_is_gone"


def rows_in(lake: Lake, contract: Contract, version: int | None = None) -> list[Row]:
    """The rows of the table, which must be there, at a version, by default the newest.

    Raises what delta-rs raises: just Exception where a data file is gone.
    """
    table = open_table(table_uri(lake.root, contract.name), version)
    return rows_of(table, "SELECT * FROM t") if table.file_uris() else []


def put_rows(lake: Lake, contract: Contract, rows: Iterable[Mapping[str, Any]]) -> int:
    """Makes `rows` the whole content of the table, which ensure_table has made; how many they are.

    Where they are its content already there is no commit. A table with a change data feed is
    changed by what differs, so that its feed has new, vanished and changed rows alone. Raises
    UnwritableFileError, and deltalake's errors for the commit.
    """
    names = contract.column_names
    wanted = _conforming(contract, [{name: row[name] for name in names} for row in rows])
    held = rows_in(lake, contract)
    if _counted(wanted) != _counted(held):
        if contract.change_feed and held:
            _change(lake, contract, held, wanted)
        else:
            replace_values(lake, contract, wanted)
    return len(wanted)


def _conforming(contract: Contract, rows: Sequence[Row]) -> list[Row]:
    """The rows as they come back from the table: with all fields of structs, in its types."""
    found: list[Row] = pa.Table.from_pylist([*rows], contract.arrow_schema).to_pylist()
    return found


def _counted(rows: Iterable[Row]) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for row in rows:
        key = _hashable(row)
        counts[key] = counts.get(key, 0) + 1
    return counts


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(sorted((name, _hashable(part)) for name, part in value.items()))
    if isinstance(value, list | tuple):
        return tuple(_hashable(part) for part in value)
    return value


def _change(lake: Lake, contract: Contract, held: Iterable[Row], wanted: Iterable[Row]) -> None:
    """Brings the table from rows to others by one commit; the keys of both are unique."""
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
    open_table(table_uri(lake.root, contract.name)).merge(
        pa.Table.from_pylist([*changed, *gone], schema),
        equal,
        source_alias="s",
        target_alias="t",
    ).when_matched_delete(f"s.{_IS_GONE}").when_matched_update(columns).when_not_matched_insert(
        columns
    ).execute()


def _key(contract: Contract, row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in contract.keys)
