"""What clusters that were captured together say of each other; and tables whose rows belong to no
cluster."""

from __future__ import annotations

from dataclasses import dataclass

from pipelines.gold.membership import Entries, RoundMember, entries_at
from pipelines.quality.judge import judge
from pipelines.stages.output import UnitResult
from pipelines.stages.pins import Pins
from pipelines.stages.stored import StoredTables
from pipelines.tables import bronze


@dataclass(frozen=True)
class Members:
    """A unit: members of a round. offsets: those whose entries are compared."""

    members: tuple[RoundMember, ...]
    offsets: tuple[int, ...]


def first_entries(unit: Members, pins: Pins) -> dict[str, Entries]:
    """By capture_id, the batches that hold the offsets."""
    return {
        one.capture_id: dict(
            entries_at(StoredTables(one.member.replica.cluster_id, pins, {}), one, unit.offsets)
        )
        for one in unit.members
    }


def judge_damage(_: None, pins: Pins) -> UnitResult:
    """Judges bronze.damage, whose rows name no cluster."""
    rows = pins.columns(bronze.DAMAGE, bronze.DAMAGE.column_names, "true")
    judged = judge(bronze.DAMAGE, rows)
    return UnitResult((), judged.judgements, judged.left_out)
