"""The gate of a build without Spark. It does what pipelines.quality.gate does."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pipelines.delta.small import in_contract_types
from pipelines.lake import Lake
from pipelines.quality.admitted import Admitted
from pipelines.quality.datafusion import judged_rows, only_broken, without_broken
from pipelines.quality.expectation import Action
from pipelines.quality.frames import frame
from pipelines.quality.in_parts import Parts, counted_in_parts
from pipelines.quality.left_out import texts, write_left_out
from pipelines.quality.results import stop_if_broken, write_results
from pipelines.quality.unbroken import Counted, QueryableTables, counted, opened
from pipelines.quality.verdicts import JudgedSuite, TableResult, broken_text, unbroken
from pipelines.tables.contract import Contract

if TYPE_CHECKING:
    from pipelines.quality.validation import Validation


class SmallGate:
    """The gates of one run. Leaving the context writes what Gate writes, or nothing where a layer
    is left to Gate.

    progress: is told a line for each broken expectation. run_id: as of Gate.
    """

    def __init__(
        self, lake: Lake, progress: Callable[[str], None], run_id: str | None = None
    ) -> None:
        self.run_id = run_id or str(uuid.uuid4())
        self.results: list[TableResult] = []
        self._at = datetime.now(UTC)
        self._lake, self._progress = lake, progress
        self._validation: Validation | None = None
        self._refused = False
        self._passed: list[Contract] = []
        self._queries: dict[str, str] = {}
        self._left_out: list[Mapping[str, Any]] = []

    def __enter__(self) -> SmallGate:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._refused or not self.results:
            return
        try:
            if self._passed:
                write_left_out(self._lake, self._passed, self._left_out)
            write_results(self._lake, self.run_id, self._at, self.results)
        except Exception:
            # an error that ended the run says more than one about what then couldn't be written
            if error is None:
                raise

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
        self._queries |= admitted
        self._left_out += [
            row for one, rows in judged for row in self._quarantined(layer, one, rows)
        ]
        self._passed += [one.table for one in found]
        return True

    def leave_to_spark(self) -> None:
        """Leaves the whole build to Gate, so nothing that was found here is written."""
        self._refused = True

    @property
    def admitted(self) -> Admitted:
        """The admitted rows of all tables that were judged, at the judged versions."""
        versions = {one.table.name: one.version for one in self.results}
        return Admitted(self._lake, versions, dict(self._queries))

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
        if self._validation is None:
            from pipelines.quality.validation import Validation  # this import takes seconds

            self._validation = Validation(by_spark=False)
        found = frame(layer, one.suite, rows)
        judged = self._validation.judge(one.suite, found, one.row_count)
        for verdict in judged.verdicts:
            if not verdict.success:
                self._progress(f"{one.suite.name}: {broken_text(verdict)}")
        return judged

    def _quarantined(
        self, layer: QueryableTables, one: TableResult, rows: str
    ) -> Iterator[Mapping[str, Any]]:
        for verdict in one.judged.broken(Action.QUARANTINE):
            broken = only_broken(rows, one.judged.suite, verdict.expectation)
            for told in texts(one.table, in_contract_types(layer.answer(broken), one.table)):
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
