"""The gate of a build without Spark: it lets a layer pass of which nothing is broken, and leaves
everything else to pipelines.quality.gate."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import TracebackType

from pipelines.delta.lake import Lake
from pipelines.quality.results import forget_quarantined, write_results
from pipelines.quality.unbroken import counted
from pipelines.quality.verdicts import TableResult, unbroken
from pipelines.tables.contract import Contract


class SmallGate:
    """The gates of one run. Leaving the context writes what Gate writes of tables that hold to
    their suites, and nothing where a layer was not admitted.

    progress: told a line for each table that breaks its suite. run_id: as of Gate.
    """

    def __init__(
        self, lake: Lake, progress: Callable[[str], None], run_id: str | None = None
    ) -> None:
        self.run_id = run_id or str(uuid.uuid4())
        self.results: list[TableResult] = []
        self._at = datetime.now(UTC)
        self._lake, self._progress = lake, progress
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
        """Whether nothing is broken in the tables, which are all of one layer. Where something is,
        the whole build is Gate's: it says what, and judges the layers before again.

        UsageError where the lake lacks a table. Raises what delta-rs raises.
        """
        found = counted(self._lake.root, tables)
        broken = [one for one in found if any(one.broken)]
        for one in broken:
            self._progress(f"{one.suite.name} breaks what is expected of it: Spark judges it")
        self._refused |= bool(broken)
        self.results += [
            TableResult(one.suite.contract, one.version, unbroken(one.suite, one.row_count))
            for one in found
            if one not in broken
        ]
        return not broken
