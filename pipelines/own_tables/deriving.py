"""The unit of an own table: its rows made, judged and written, in any process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable
from pyarrow.dataset import Dataset

from pipelines.delta.unit_commits import Made
from pipelines.lake.delta_rs import readable
from pipelines.new_file import NewFile
from pipelines.own_tables.errors import OwnTableError
from pipelines.own_tables.own_table import OwnTable
from pipelines.quality.expectation import Action
from pipelines.quality.judge import Judgement, judge
from pipelines.quality.table_results import broken_text, summed
from pipelines.stages.output import Output, Replaced
from pipelines.stages.pins import Pins
from pipelines.tables.contract import Contract


@dataclass(frozen=True, slots=True)
class OwnUnit:
    """An own table to derive."""

    table: OwnTable
    stored: Contract | None = None
    """The contract of the lake's table of this name; None where the lake has no such table."""


@dataclass(frozen=True, slots=True)
class OwnResult:
    """What a unit made, or why it made nothing."""

    problem: str = ""
    """Why nothing was made, as one line; "" where the rows were made."""
    contract: Contract | None = None
    is_new: bool = False
    """Whether the lake has no table of this name with these columns."""
    made: tuple[Made, ...] = ()
    judgements: tuple[Judgement, ...] = ()

    @property
    def files(self) -> tuple[NewFile, ...]:
        """All data files that the unit wrote."""
        return tuple(file for one in self.made for file in (*one.files, *one.changes))


def derive_own(unit: OwnUnit, pins: Pins) -> OwnResult:
    """Derives the table. An error of its definition is a result and isn't raised, so that it
    prevents no other own table."""
    try:
        return _derived(unit, pins)
    except OwnTableError as error:
        return OwnResult(str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - of code that isn't ours
        line = " ".join(str(error).split()) or "without a word"
        return OwnResult(f"{type(error).__name__}: {line}")


def _derived(unit: OwnUnit, pins: Pins) -> OwnResult:
    table = unit.table
    missing = sorted({*table.reads} - {*pins.versions})
    if missing:
        raise OwnTableError(f"it reads {missing[0]}, which the lake doesn't have")
    answer = table.rows.of({name: rows_in(pins.table(name)) for name in table.reads})
    contract = table.contract(answer.schema)
    rows = table.table(contract, answer)
    suite = table.suite(contract)
    judged = judge(contract, rows, suite=suite)
    broken = summed(suite, 0, judged.judgements).broken(Action.STOP)
    if broken:
        raise OwnTableError(broken_text(broken[0]))
    is_new = unit.stored is None or unit.stored.arrow_schema != contract.arrow_schema
    before = contract.arrow_schema.empty_table()
    if not is_new:
        before = pins.columns(contract, contract.column_names, "true")
    if not pins.lake.is_remote:  # the table is made when its rows are committed
        Path(pins.lake.path_of(contract)).mkdir(parents=True, exist_ok=True)
    out = Output(pins, Replaced(()))
    out.put_changes(contract, before, rows)
    return OwnResult("", contract, is_new, (*out.made,), judged.judgements)


def rows_in(table: DeltaTable) -> Dataset:
    """The rows of a table of the lake, which are read as they are needed."""
    return readable(table).to_pyarrow_dataset()
