"""The results of a run's gates, and how they are written into the lake: gold.quality_results,
gold.quarantined_rows and the pages."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pipelines import delta
from pipelines.lake.delta_rs import WRITER, open_if_there, rows_of
from pipelines.quality.admitted import Admitted
from pipelines.quality.expectation import Action, Suite
from pipelines.quality.pages import pages
from pipelines.quality.suite_sql import judged_rows, without_broken
from pipelines.quality.verdicts import TableResult, broken_text
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUALITY_RESULTS, QUARANTINED_ROWS
from replica.errors import CorruptDataError

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

    from pipelines.quality.validation import Validation

PAGES = "_quality"
"""The folder of the pages, in the lake's folder."""


class JudgedRun:
    """The results of the gates of one run. They are written when the context ends.

    progress: is called with a line of text for each broken expectation. run_id: a UUID for the rows
    of results; rows of an earlier attempt with the same id are replaced. by_spark: whether judged
    rows are Spark's DataFrames.
    """

    def __init__(
        self,
        lake: delta.Lake,
        progress: Callable[[str], None],
        run_id: str | None,
        *,
        by_spark: bool,
    ) -> None:
        self.run_id = run_id or str(uuid.uuid4())
        self.results: list[TableResult] = []
        self._at = datetime.now(UTC)
        self._lake, self._progress, self._by_spark = lake, progress, by_spark
        self._validation: Validation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._write()
        except Exception:
            # the error that ended the run tells more than an error of the writing after it
            if error is None:
                raise

    @property
    def admitted(self) -> Admitted:
        """The admitted rows of all tables that were judged, as any process can read them."""
        versions = {one.table.name: one.version for one in self.results}
        queries: dict[str, str] = {}
        for one in self.results:
            bad = [verdict.expectation for verdict in one.broken(Action.QUARANTINE)]
            if bad:
                rows = judged_rows(one.suite, queries)
                queries[one.suite.name] = without_broken(rows, one.suite, bad)
        return Admitted(self._lake, versions, queries)

    def _write(self) -> None:
        if self.results:
            write_results(self._lake, self.run_id, self._at, self.results)

    def _in_detail(
        self, suite: Suite, rows: DataFrame | pd.DataFrame, version: int, row_count: int
    ) -> TableResult:
        """The verdicts of Great Expectations on a table, some of whose rows break the suite. The
        parameters: as in Validation.judge."""
        if self._validation is None:
            from pipelines.quality.validation import Validation  # this import takes seconds

            self._validation = Validation(by_spark=self._by_spark)
        judged = self._validation.judge(suite, rows, version, row_count)
        for verdict in judged.verdicts:
            if not verdict.success:
                self._progress(f"{suite.name}: {broken_text(verdict)}")
        return judged


def write_results(
    lake: delta.Lake, run_id: str, at: datetime, results: Sequence[TableResult]
) -> None:
    """Writes the rows and the pages of a run. They replace the rows of an earlier attempt with the
    same run_id, and the pages of the run before.

    at: the time of the run, in UTC.
    """
    rows = [
        {
            "run_id": run_id,
            "at": at,
            "table_name": one.table.name,
            "table_version": one.version,
            **verdict.fields,
        }
        for one in results
        for verdict in one.verdicts
    ]
    delta.ensure_table(lake, QUALITY_RESULTS)
    earlier = open_if_there(lake, QUALITY_RESULTS.name)
    assert earlier is not None, "ensure_table has made it"
    earlier.delete(f"run_id = {delta.text(run_id)}", WRITER)
    delta.add_values(lake, QUALITY_RESULTS, rows)
    lake.replace_folder(PAGES, pages(results, at))


def stop_if_broken(lake: delta.Lake, results: Sequence[TableResult]) -> None:
    """Raises CorruptDataError, which names the table, the expectation and some keys, where an
    expectation whose action is STOP is broken."""
    stopped = [(one, verdict) for one in results for verdict in one.broken(Action.STOP)]
    if not stopped:
        return
    (first, verdict), more = stopped[0], len(stopped) - 1
    also = f"; {more} more expectations are broken" if more else ""
    raise CorruptDataError(
        f"{broken_text(verdict)}{also}. Nothing was derived from it; "
        f"{QUALITY_RESULTS.name} has all",
        path=lake.path_of(first.table),
    )


def of_tables(tables: Iterable[Contract]) -> str:
    """SQL condition: whether a row of gold.quarantined_rows is of one of the tables."""
    names = ", ".join(delta.text(table.name) for table in tables)
    return f"table_name IN ({names})"


def forget_quarantined(lake: delta.Lake, tables: Sequence[Contract]) -> None:
    """Removes the rows of the tables from gold.quarantined_rows, because the newest run left none
    out. Commits nothing where there are no such rows."""
    held = open_if_there(lake, QUARANTINED_ROWS.name)
    if held is None:
        return
    query = f"SELECT count(*) AS n FROM t WHERE {of_tables(tables)}"  # noqa: S608 - the names are our own
    if rows_of(held, query)[0]["n"]:
        held.delete(of_tables(tables), WRITER)
