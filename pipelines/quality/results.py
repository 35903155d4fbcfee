"""The results of a run, and how they are written into the lake: gold.quality_results,
gold.quarantined_rows and Great Expectations' Data Docs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from pipelines import delta
from pipelines.delta.conforming import open_conforming
from pipelines.delta.writing import replace_values
from pipelines.dialects import DATA_FUSION
from pipelines.lake.delta_rs import WRITER, open_if_there, readable
from pipelines.quality.counted_run import CountedExpectation, CountedRun, CountedTable
from pipelines.quality.data_docs import NoDataDocsError, PendingDocs, begin_docs
from pipelines.quality.judge import LeftOut
from pipelines.quality.table_results import ExpectationResult, TableResult
from pipelines.tables.gold import QUALITY_RESULTS, QUARANTINED_ROWS

PAGES = "_quality"
"""The folder of the pages, in the lake's folder."""


@dataclass(frozen=True)
class QualityRun:
    """A run of a job, `build` or `quality`."""

    lake: delta.Lake
    job: str
    run_id: str
    at: datetime
    """The time of the run, in UTC."""
    progress: Callable[[str], None]
    """A function that is called with a line of text where no Data Docs are made."""

    def begin_docs(self, results: Sequence[TableResult], stopped: str = "") -> PendingDocs:
        """Lets Great Expectations begin to validate the counts, while this process continues.
        stopped: as in CountedRun."""
        return begin_docs(self.counted(results, stopped))

    def counted(self, results: Sequence[TableResult], stopped: str = "") -> CountedRun:
        """The run and the counts of its tables in the form that the process of Great Expectations
        takes."""
        return CountedRun(
            job=self.job,
            run_id=self.run_id,
            at=f"{self.at:%Y-%m-%d %H:%M:%S}",
            stopped=stopped,
            tables=[*map(_counted, results)],
        )

    def write(self, results: Sequence[TableResult], docs: PendingDocs) -> None:
        """Writes the rows and the pages. They replace the rows of an earlier attempt with the same
        run_id, and the pages of the run before."""
        self.add(results)
        try:
            pages = docs.pages()
        except NoDataDocsError as error:
            self.progress(f"{error}; {QUALITY_RESULTS.name} has the results")
        else:
            self.lake.replace_folder(PAGES, pages)

    def add(self, results: Sequence[TableResult]) -> None:
        """Writes the rows of these results, and no pages. They replace the rows of an earlier
        attempt on the same tables."""
        rows = [
            {
                "run_id": self.run_id,
                "at": self.at,
                "table_name": one.table.name,
                "table_version": one.version,
                **verdict.fields,
            }
            for one in results
            for verdict in one.verdicts
        ]
        if not rows:
            return
        delta.ensure_table(self.lake, QUALITY_RESULTS)
        names = DATA_FUSION.literals(one.table.name for one in results)
        same = f"run_id = {DATA_FUSION.literal(self.run_id)} AND table_name IN ({names})"
        readable(open_conforming(self.lake, QUALITY_RESULTS)).delete(same, WRITER)
        delta.add_values(self.lake, QUALITY_RESULTS, rows)


def _counted(result: TableResult) -> CountedTable:
    rows = result.verdicts[0].evaluated_rows
    return CountedTable(
        name=result.suite.name, rows=rows, expectations=[*map(_one, result.verdicts)]
    )


def _one(verdict: ExpectationResult) -> CountedExpectation:
    expectation = verdict.expectation
    return CountedExpectation(
        expectation=expectation.type,
        columns=[*expectation.columns],
        kwargs={**expectation.kwargs},
        meaning=expectation.meaning,
        action=expectation.action.value,
        evaluated_rows=verdict.evaluated_rows,
        unexpected_rows=verdict.unexpected_rows,
        sample_keys=[*verdict.sample],
    )


def write_left_out(
    lake: delta.Lake,
    run_id: str,
    at: datetime,
    versions: Mapping[str, int],
    rows: Sequence[LeftOut],
    kept: Set[str],
) -> None:
    """Makes gold.quarantined_rows hold exactly `rows`, and those of its earlier rows that are of
    the clusters in `kept`. Commits nothing where no row comes and none goes.

    versions: the version of each table, by name. at: the time of the run, in UTC.
    """
    table = open_if_there(lake, QUARANTINED_ROWS.name)
    if table is None and not rows:
        return
    delta.ensure_table(lake, QUARANTINED_ROWS)
    version = delta.version(lake, QUARANTINED_ROWS)
    held = delta.rows_where(lake, QUARANTINED_ROWS, "true", version)
    keys = map(json.loads, held["row_key"].to_pylist())
    is_kept = pa.array([key.get("cluster_id") in kept for key in keys], pa.bool_())
    others = held.filter(is_kept)
    if not rows and others.num_rows == held.num_rows:
        return
    new = [
        {
            "run_id": run_id,
            "at": at,
            "table_name": one.table,
            "table_version": versions[one.table],
            "reason": one.reason,
            "row_key": one.row_key,
            "content": one.content,
        }
        for one in rows
    ]
    own = pa.Table.from_pylist(new, QUARANTINED_ROWS.arrow_schema)
    replace_values(lake, QUARANTINED_ROWS, [pa.concat_tables([others, own])])
