"""What a run writes into the lake: gold.quality_results, gold.quarantined_rows and the pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from pipelines import delta
from pipelines.lake.delta_rs import WRITER, open_if_there, rows_of
from pipelines.quality.expectation import Action
from pipelines.quality.pages import pages
from pipelines.quality.verdicts import TableResult, broken_text
from pipelines.tables.contract import Contract
from pipelines.tables.gold import QUALITY_RESULTS, QUARANTINED_ROWS
from replica.errors import CorruptDataError

PAGES = "_quality"
"""The folder of the pages, in the lake's folder."""


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
        for verdict in one.judged.verdicts
    ]
    delta.ensure_table(lake, QUALITY_RESULTS)
    _remove_earlier_attempt(lake, run_id)
    delta.add_values(lake, QUALITY_RESULTS, rows)
    lake.replace_folder(PAGES, pages([one.judged for one in results], at))


def stop_if_broken(lake: delta.Lake, results: Sequence[TableResult]) -> None:
    """Raises CorruptDataError, which names the table, the expectation and some keys, where an
    expectation whose action is STOP is broken."""
    stopped = [(one, verdict) for one in results for verdict in one.judged.broken(Action.STOP)]
    if not stopped:
        return
    (first, verdict), more = stopped[0], len(stopped) - 1
    also = f"; {more} more expectations are broken" if more else ""
    raise CorruptDataError(
        f"{broken_text(verdict)}{also}. Nothing was derived from it; "
        f"{QUALITY_RESULTS.name} has all",
        path=lake.path_of(first.table),
    )


def _remove_earlier_attempt(lake: delta.Lake, run_id: str) -> None:
    """Removes the results of a run with the same id."""
    table = open_if_there(lake, QUALITY_RESULTS.name)
    assert table is not None, "ensure_table has made it"
    table.delete(f"run_id = {delta.text(run_id)}", WRITER)


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
    ((count,),) = (
        row.values()
        for row in rows_of(held, f"SELECT count(*) FROM t WHERE {of_tables(tables)}")  # noqa: S608 - the names are our own
    )
    if count:
        held.delete(of_tables(tables), WRITER)
