"""The results of a run's gates, and how they are written into the lake: gold.quality_results,
gold.quarantined_rows and the pages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from datetime import datetime

import pyarrow as pa

from pipelines import delta
from pipelines.delta.conforming import open_conforming
from pipelines.delta.writing import replace_values
from pipelines.dialects import DATA_FUSION
from pipelines.lake.delta_rs import WRITER, open_if_there
from pipelines.quality.judge import LeftOut
from pipelines.quality.pages import pages
from pipelines.quality.verdicts import TableResult
from pipelines.tables.gold import QUALITY_RESULTS, QUARANTINED_ROWS

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
        for verdict in one.verdicts
    ]
    delta.ensure_table(lake, QUALITY_RESULTS)
    open_conforming(lake, QUALITY_RESULTS).delete(f"run_id = {DATA_FUSION.literal(run_id)}", WRITER)
    delta.add_values(lake, QUALITY_RESULTS, rows)
    lake.replace_folder(PAGES, pages(results, at))


def write_left_out(
    lake: delta.Lake,
    run_id: str,
    at: datetime,
    versions: Mapping[str, int],
    rows: Sequence[LeftOut],
    kept: Set[str],
) -> None:
    """Makes the rows those that gold.quarantined_rows has, besides rows of the clusters in `kept`.
    Commits nothing where there are no rows, neither now nor before. versions: of the tables, by
    name. at: the time of the run, in UTC."""
    table = open_if_there(lake, QUARANTINED_ROWS.name)
    if table is None and not rows:
        return
    delta.ensure_table(lake, QUARANTINED_ROWS)
    version = delta.size(lake, QUARANTINED_ROWS).version
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
