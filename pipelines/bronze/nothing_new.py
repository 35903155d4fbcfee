"""Whether a lake has everything that an ingest has looked at, found without Spark.

A round writes bronze.captures last, so a group in that table is in all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deltalake import DeltaTable

from pipelines.capture.looks import Looks
from pipelines.lake import Lake
from pipelines.lake.delta_rs import open_if_there, rows_of
from pipelines.tables.bronze import BRONZE, CAPTURES, DAMAGE
from replica.format.damage import Damage

_GROUPS = "SELECT DISTINCT capture_group FROM t"
_DAMAGES = "SELECT file, position, kind FROM t WHERE capture_id IS NULL"


def holds_all(lake: Lake, looks: Looks) -> bool:
    """Whether every capture group and every damage is in the lake.

    False, too, where a table of bronze is absent or can't be read: the ingest itself reports why.
    """
    groups = {group.group_id for groups in looks.rounds for group in groups}
    try:
        tables = {contract: open_if_there(lake, contract.name) for contract in BRONZE}
        captures, damage = tables[CAPTURES], tables[DAMAGE]
        if captures is None or damage is None or None in tables.values():
            return False
        known = {row["capture_group"] for row in rows_of(captures, _GROUPS)}
        new = _not_told(damage, looks.damages)
    except Exception:  # noqa: BLE001 - delta-rs raises just that where a data file is gone
        return False
    return groups <= known and not new


def new_damages(lake: Lake, damages: Sequence[Damage]) -> list[Damage]:
    """The damages without a replica that the lake lacks. The lake has bronze.damage."""
    table = open_if_there(lake, DAMAGE.name)
    assert table is not None, f"{lake} has no {DAMAGE.name}"
    return _not_told(table, damages)


def _not_told(table: DeltaTable, damages: Sequence[Damage]) -> list[Damage]:
    if not damages:
        return []
    told = {tuple(row.values()) for row in rows_of(table, _DAMAGES)}
    return [damage for damage in damages if _key(damage) not in told]


def _key(damage: Damage) -> tuple[Any, ...]:
    """The key of a damage without a replica: the keys of bronze.damage without the capture."""
    return damage.file, damage.position, damage.kind.value
