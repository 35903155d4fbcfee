"""The own tables of a lake, judged against what their definitions expect. Nothing is derived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_versions
from pipelines.own_tables.deriving import OwnUnit
from pipelines.own_tables.own_table import OwnTable
from pipelines.own_tables.stored import stored_contract
from pipelines.quality.judge import Judgement, judge
from pipelines.quality.table_results import TableResult, summed
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain, Stage
from pipelines.stages.pins import Pins


@dataclass(frozen=True, slots=True)
class OwnJudgement:
    """The judgements of a table, or why it can't be judged."""

    problem: str = ""
    judgements: tuple[Judgement, ...] = ()


def judge_own_table(unit: OwnUnit, pins: Pins) -> OwnJudgement:
    """Judges the rows of a table."""
    contract = unit.stored
    assert contract is not None, "only tables that the lake has are judged"
    rows = pins.columns(contract, contract.column_names, "true")
    try:
        return OwnJudgement("", judge(contract, rows, suite=unit.table.suite(contract)).judgements)
    except Exception as error:  # noqa: BLE001 - of a user's condition
        return OwnJudgement(" ".join(str(error).split()))


def judge_own(
    lake: Lake, runner: Runner, tables: Sequence[OwnTable], problems: list[str]
) -> list[TableResult]:
    """The results of the tables that the lake has. problems: gets a line for each table that can't
    be judged. Raises what delta-rs raises."""
    versions = newest_versions(lake, (one.name for one in tables))
    pins = Pins(lake, versions)
    units = [
        OwnUnit(one, stored_contract(lake, one.name)) for one in tables if one.name in versions
    ]
    stage: Stage[OwnUnit, OwnJudgement] = Stage(
        "judge own tables", Grain.TABLE, partial(judge_own_table, pins=pins)
    )
    found = []
    for unit, one in zip(units, runner.run(stage, units), strict=True):
        if one.problem or unit.stored is None:
            problems.append(f"{unit.table.place}: {one.problem}")
            continue
        suite = unit.table.suite(unit.stored)
        found.append(summed(suite, versions[unit.table.name], one.judgements))
    return found
