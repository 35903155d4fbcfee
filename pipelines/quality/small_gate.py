"""The gate of a build without Spark: it warns and stops as pipelines.quality.gate does, and leaves
a build to that gate where rows are to be left out."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING

from pipelines.delta.lake import Lake
from pipelines.quality.expectation import Action
from pipelines.quality.frames import frame
from pipelines.quality.results import forget_quarantined, stop_if_broken, write_results
from pipelines.quality.unbroken import Counted, Opened, counted, opened
from pipelines.quality.verdicts import Judged, TableResult, broken_text, unbroken
from pipelines.tables.contract import Contract

if TYPE_CHECKING:
    from pipelines.quality.validation import Validation


class SmallGate:
    """The gates of one run. Leaving the context writes what Gate writes, and nothing where a layer
    is left to Gate.

    progress: told a line for each expectation that is broken. run_id: as of Gate.
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
            forget_quarantined(self._lake, [one.table for one in self.results])
            write_results(self._lake, self.run_id, self._at, self.results)
        except Exception:
            if error is None:  # what ended the run says more than what then couldn't be written
                raise

    def admit(self, tables: Sequence[Contract]) -> bool:
        """Whether what follows may be derived from the tables, which are all of one layer. Where
        rows ask to be left out, the whole build is Gate's: it judges the layers before again.

        CorruptDataError as of Gate. UsageError where the lake lacks a table. Raises what delta-rs
        raises.
        """
        layer = opened(self._lake.root, tables)
        counts = counted(layer, tables)
        refused = [one for one in counts if _leaves_out(one)]
        for one in refused:
            self._progress(f"{one.suite.name} has rows to leave out: Spark judges them")
        self._refused |= bool(refused)
        if refused:
            return False
        found = [
            TableResult(one.suite.contract, one.version, self._judged(layer, one)) for one in counts
        ]
        self.results += found
        stop_if_broken(self._lake, found)
        return True

    def _judged(self, layer: Opened, one: Counted) -> Judged:
        if not any(one.broken):
            return unbroken(one.suite, one.row_count)
        if self._validation is None:
            from pipelines.quality.validation import Validation  # its import takes seconds

            self._validation = Validation(by_spark=False)
        judged = self._validation.judge(one.suite, frame(layer, one.suite), one.row_count)
        for verdict in judged.verdicts:
            if not verdict.success:
                self._progress(f"{one.suite.name}: {broken_text(verdict)}")
        return judged


def _leaves_out(one: Counted) -> bool:
    told = zip(one.suite.expectations, one.broken, strict=True)
    return any(count and of.action is Action.QUARANTINE for of, count in told)
