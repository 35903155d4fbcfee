"""bronze.snapshots updated with the snapshots of a round's captures. The driver does it: there are
few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from pipelines import delta
from pipelines.bronze import small_tables
from pipelines.bronze.captured import Captured
from pipelines.bronze.files import snapshots
from pipelines.bronze.new_records import APPLICATION
from pipelines.tables.bronze import SNAPSHOT_KEYS, SNAPSHOTS
from replica.format.directory import SnapshotFile

_Key = tuple[object, ...]
CHANGED_COLUMNS = ("file", "state", "first_seen", "last_seen", "captures")
"""The columns that another capture of a known snapshot changes."""


def new_snapshots(
    lake: delta.Lake | None, captured: Sequence[Captured]
) -> list[tuple[Captured, SnapshotFile]]:
    """The snapshots that were read and that the table lacks. lake: None where it has no
    tables yet."""
    unknown: dict[_Key, tuple[Captured, SnapshotFile]] = {}
    for one, snapshot in snapshots(captured):
        if not snapshot.scan.sparse_until:
            unknown.setdefault(_key(small_tables.snapshot_row(one, snapshot)), (one, snapshot))
    if not unknown or lake is None:
        return list(unknown.values())
    for row in delta.values(lake, SNAPSHOTS, SNAPSHOT_KEYS):
        unknown.pop(tuple(row.values()), None)
    return list(unknown.values())


def write_snapshots(lake: delta.Lake, captured: Sequence[Captured]) -> int:
    """Writes the rows; returns how many were added."""
    rows: dict[_Key, Mapping[str, Any]] = {}
    for one, snapshot in snapshots(captured):
        row = small_tables.snapshot_row(one, snapshot)
        rows.setdefault(_key(row), row)
    if not rows:
        return 0
    seen = delta.size(lake, SNAPSHOTS).version
    known = {
        key: row
        for row in delta.values(lake, SNAPSHOTS, SNAPSHOTS.column_names)
        if (key := _key(row)) in rows
    }
    if not known:
        return delta.add_values(lake, SNAPSHOTS, [*rows.values()], APPLICATION, seen).rows
    both = [seen_again(known[key], row) if key in known else row for key, row in rows.items()]
    changed = [row for row in both if row != known.get(_key(row))]
    table = pa.Table.from_pylist(changed, SNAPSHOTS.arrow_schema)
    return delta.merge_values(lake, SNAPSHOTS, table, seen, columns=CHANGED_COLUMNS)


def seen_again(known: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """The table's row after one more capture with the snapshot: a pure function."""
    latest = row if row["last_seen"] >= known["last_seen"] else known
    return {
        **known,
        "file": latest["file"],
        "state": latest["state"],
        "first_seen": min(known["first_seen"], row["first_seen"]),
        "last_seen": max(known["last_seen"], row["last_seen"]),
        "captures": [*dict.fromkeys([*known["captures"], *row["captures"]])],
    }


def _key(row: Mapping[str, Any]) -> _Key:
    return tuple(row[name] for name in SNAPSHOT_KEYS)
