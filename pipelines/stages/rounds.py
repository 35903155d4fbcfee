"""The findings about clusters that were captured together, from the files of all of them; and
tables whose rows belong to no cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.cluster.rows import Row
from pipelines.dialects import DATA_FUSION
from pipelines.gold.membership import ENTRY_COLUMNS, RoundMember, entries_at
from pipelines.quality.judge import judge
from pipelines.stages.output import UnitResult
from pipelines.stages.pins import Pins
from pipelines.tables import bronze
from pipelines.tables.keys import REPLICA_KEYS


@dataclass(frozen=True)
class Members:
    """A unit: members of a round."""

    members: tuple[RoundMember, ...]
    offsets: tuple[int, ...]
    """The offsets whose entries are compared."""


def first_entries(unit: Members, pins: Pins) -> UnitResult:
    """Finds the batches that hold the offsets. `told` of the result has them (Entries) by
    capture_id."""
    clusters = sorted({one.member.replica.cluster_id for one in unit.members})
    rows = holding(pins, clusters, unit.offsets)
    return UnitResult((), told={one.capture_id: entries_at(rows, one) for one in unit.members})


def holding(pins: Pins, clusters: Sequence[str], offsets: Sequence[int]) -> list[Row]:
    """The batches of the clusters that hold one of the offsets."""
    places = (f"base_offset <= {one:d} AND last_offset >= {one:d}" for one in offsets)
    where = " OR ".join(f"({place})" for place in places) or "false"
    names = (*REPLICA_KEYS, *ENTRY_COLUMNS)
    rows = pins.columns(
        bronze.LOG_BATCHES, names, f"{DATA_FUSION.of_clusters(clusters)} AND ({where})"
    )
    found: list[Row] = rows.to_pylist()
    for row in found:
        row["holds"] = [o for o in offsets if row["base_offset"] <= o <= row["last_offset"]]
    return found


def judge_damage(_: None, pins: Pins) -> UnitResult:
    """Judges bronze.damage, whose rows name no cluster."""
    rows = pins.columns(bronze.DAMAGE, bronze.DAMAGE.column_names, "true")
    judged = judge(bronze.DAMAGE, rows)
    return UnitResult((), judged.judgements, judged.left_out)
