"""Brings own tables up to date after a build, where their definition or inputs have changed.

An own table that fails stops nothing else: kraftlake's tables are committed before, and the other
own tables are still derived.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial

from pipelines.delta.few_rows import row_count
from pipelines.delta.tables import ensure_table, replace_table
from pipelines.delta.unit_commits import commit_units
from pipelines.lake import Lake
from pipelines.lake.delta_rs import newest_states, open_table
from pipelines.last_build import TableState
from pipelines.own_tables import stored
from pipelines.own_tables.definitions import own_tables
from pipelines.own_tables.deriving import OwnResult, OwnUnit, derive_own
from pipelines.own_tables.errors import OwnTablesError
from pipelines.own_tables.own_table import OwnTable
from pipelines.own_tables.stored import Derived
from pipelines.quality.results import QualityRun
from pipelines.quality.table_results import TableResult, broken_text, summed
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain, Stage
from pipelines.stages.pins import Pins
from replica.errors import KraftlakeError


@dataclass
class OwnBuild:
    """The own tables of a build."""

    lake: Lake
    tables: Sequence[OwnTable]
    problems: list[str]
    """A line for each definition that makes no table, and then for each table that couldn't be
    built."""
    counts: dict[str, int] = field(default_factory=dict, init=False)
    """The number of rows of each table that is up to date, by name."""

    @cached_property
    def _known(self) -> dict[str, Derived]:
        return stored.noted_facts(self.lake)

    def stale(self) -> list[OwnTable]:
        """The tables that need to be derived. Puts the row counts of the other tables into
        `counts`."""
        return self._stale(self._states())

    def _stale(self, states: Mapping[str, TableState]) -> list[OwnTable]:
        found = []
        for one in self.tables:
            known = self._known.get(one.name)
            if known is not None and _is_same(one, known, states):
                self.counts[one.name] = known.rows
            else:
                found.append(one)
        return found

    def run(self, runner: Runner, progress: Callable[[str], None], run_id: str) -> None:
        """Derives the own tables that are stale, and commits each of them once. progress, run_id:
        as in pipelines.build.build. Raises what delta-rs raises."""
        states = self._states()
        tables = self._stale(states)
        pins = Pins(self.lake, {name: version for name, (_, version) in states.items()})
        units = [one for table in tables for one in self._unit(table, table.name in states)]
        if not units:
            return
        stage: Stage[OwnUnit, OwnResult] = Stage(
            "derive own tables", Grain.TABLE, partial(derive_own, pins=pins)
        )
        progress(f"{stage.name}: {len(units)} of grain {stage.grain.value}")
        number = int(time.time() * 1000)
        found = []
        for unit, result in zip(units, runner.run(stage, units), strict=True):
            if result.problem:
                self._complain(unit.table, result.problem)
                continue
            found.append(self._committed(unit.table, result, states, number))
        stored.note(self.lake, self._known)
        for one in found:
            for verdict in one.verdicts:
                if not verdict.success:
                    progress(f"{one.suite.name}: {broken_text(verdict)}")
        QualityRun(self.lake, "build", run_id, datetime.now(UTC), progress).add(found)

    def all_counts(self, counts: Mapping[str, int]) -> dict[str, int]:
        """`counts`, which are those of kraftlake's tables, together with the counts of the own
        tables. Raises OwnTablesError, which has the counts, where there are problems."""
        both = {**counts, **self.counts}
        if self.problems:
            raise OwnTablesError(self.problems, both)
        return both

    def _states(self) -> dict[str, TableState]:
        """The states of the own tables, and of the tables that they read."""
        names = {name for one in self.tables for name in (*one.reads, one.name)}
        return newest_states(self.lake, names)

    def _unit(self, table: OwnTable, is_there: bool) -> list[OwnUnit]:
        """The unit of a table; no unit where the lake has something else in the table's place."""
        try:
            held = stored.stored_contract(self.lake, table.name) if is_there else None
        except KraftlakeError as error:
            self._complain(table, str(error))
            return []
        return [OwnUnit(table, held)]

    def _complain(self, table: OwnTable, problem: str) -> None:
        self.problems.append(f"{table.place}: {problem}")

    def _committed(
        self, table: OwnTable, result: OwnResult, states: Mapping[str, TableState], number: int
    ) -> TableResult:
        contract = result.contract
        assert contract is not None, "there is no problem"
        make = replace_table if result.is_new else ensure_table
        commit_units(self.lake, contract, result.made, make(self.lake, contract), number)
        opened = open_table(self.lake.table_uri(table.name))
        count = self.counts[table.name] = row_count(opened) or 0
        state = str(opened.metadata().id), opened.version()
        reads = {name: states[name] for name in table.reads}
        self._known[table.name] = Derived(table.version, reads, state, contract.keys, count)
        return summed(table.suite(contract), state[1], result.judgements)


def own_build(lake: Lake, folder: str | None) -> OwnBuild:
    """The own tables of a build. folder: as in own_tables."""
    return OwnBuild(lake, *own_tables(lake, folder))


def _is_same(table: OwnTable, known: Derived, states: Mapping[str, TableState]) -> bool:
    """Whether the table would be derived from the same inputs as before, and has
    not changed since."""
    reads = {name: states.get(name) for name in table.reads}
    now = (table.version, reads, states.get(table.name))
    return now == (known.definition, known.reads, known.state)
