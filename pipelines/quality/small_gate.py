"""The gate of a build without Spark. It does what pipelines.quality.gate does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pipelines.delta.small import in_types
from pipelines.lake import Lake
from pipelines.quality.expectation import Action
from pipelines.quality.frames import frame
from pipelines.quality.in_parts import Parts, counted_in_parts
from pipelines.quality.left_out import texts, write_left_out
from pipelines.quality.results import JudgedRun, stop_if_broken
from pipelines.quality.suite_sql import judged_rows, only_broken, without_broken
from pipelines.quality.unbroken import Counted, QueryableTables, counted, opened
from pipelines.quality.verdicts import JudgedSuite, TableResult, unbroken
from pipelines.tables.contract import Contract


class SmallGate(JudgedRun):
    """The gates of one run. Leaving the context writes what Gate writes, or nothing where a layer
    is left to Gate. progress, run_id: as of JudgedRun."""

    def __init__(
        self, lake: Lake, progress: Callable[[str], None], run_id: str | None = None
    ) -> None:
        super().__init__(lake, progress, run_id, by_spark=False)
        self._refused = False
        self._passed: list[Contract] = []
        self._left_out: list[Mapping[str, Any]] = []

    def _write(self) -> None:
        if self._refused:
            return
        if self._passed:
            write_left_out(self._lake, self._passed, self._left_out)
        super()._write()

    def admit(
        self,
        tables: Sequence[Contract],
        *,
        leave_out: bool = True,
        layer: QueryableTables | None = None,
        parts: Parts | None = None,
    ) -> bool:
        """Judges the tables of one layer. Gives whether the next layer may be derived from them,
        without the rows that `admitted` leaves out.

        leave_out: where it is False and rows are to be left out, Gate does the whole build, and
        judges the layers before again. layer: the tables, where they were opened before. parts:
        have all clusters of the lake. Raises CorruptDataError as Gate does, UsageError where the
        lake lacks a table, and what delta-rs raises.
        """
        layer = opened(self._lake, tables) if layer is None else layer
        if parts is None:
            counts = counted(layer, tables)
        else:
            counts = counted_in_parts(self._lake, layer, tables, parts)
        refused = [] if leave_out else [one for one in counts if _leaves_out(one)]
        for one in refused:
            self._progress(f"{one.suite.name} has rows to leave out: Spark judges them")
        if refused:
            self.leave_to_spark()
            return False
        judged: list[tuple[TableResult, str]] = []
        admitted: dict[str, str] = {}
        for one in counts:
            rows = judged_rows(one.suite, admitted)
            result = self._judged(layer, one, rows, admitted)
            judged.append((TableResult(one.suite.contract, one.version, result), rows))
            bad = [verdict.expectation for verdict in result.broken(Action.QUARANTINE)]
            if bad:
                admitted[one.suite.name] = without_broken(rows, one.suite, bad)
        found = [result for result, _ in judged]
        self.results += found
        stop_if_broken(self._lake, found)
        self._left_out += [
            row for one, rows in judged for row in self._quarantined(layer, one, rows)
        ]
        self._passed += [one.table for one in found]
        return True

    def leave_to_spark(self) -> None:
        """Leaves the whole build to Gate, so nothing that was found here is written."""
        self._refused = True

    @property
    def unbroken(self) -> frozenset[str]:
        """The names of the tables in which no row breaks an expectation."""
        return frozenset(
            one.table.name
            for one in self.results
            if all(verdict.success for verdict in one.judged.verdicts)
        )

    def _judged(
        self, layer: QueryableTables, one: Counted, rows: str, admitted: Mapping[str, str]
    ) -> JudgedSuite:
        join = one.suite.joined
        # rows are left out of the joined table, which may break this one
        joins_fewer = join is not None and join.contract.name in admitted
        if not any(one.broken) and not joins_fewer:
            return unbroken(one.suite, one.row_count)
        return self._in_detail(one.suite, frame(layer, one.suite, rows), one.row_count)

    def _quarantined(
        self, layer: QueryableTables, one: TableResult, rows: str
    ) -> Iterator[Mapping[str, Any]]:
        for verdict in one.judged.broken(Action.QUARANTINE):
            broken = only_broken(rows, one.judged.suite, verdict.expectation)
            for told in texts(one.table, in_types(layer.answer(broken), one.table.arrow_schema)):
                yield {
                    "run_id": self.run_id,
                    "at": self._at,
                    "table_name": one.table.name,
                    "table_version": one.version,
                    "reason": verdict.expectation.meaning,
                    **told,
                }


def _leaves_out(one: Counted) -> bool:
    told = zip(one.suite.expectations, one.broken, strict=True)
    return any(count and of.action is Action.QUARANTINE for of, count in told)
