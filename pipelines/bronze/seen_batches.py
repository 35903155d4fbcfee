"""bronze.log_batches updated with the batches of a round's captures, window by window.

pipelines.bronze.log_batches.fold does the work, in this process or in Spark's tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pipelines import delta
from pipelines.bronze import log_batches
from pipelines.bronze.batch_spans import FOLDED_COLUMNS, FoldedCapture, Later
from pipelines.bronze.batch_windows import FoldWindow, has_deleted, held_by, windows
from pipelines.bronze.captured import Captured
from pipelines.bronze.coverage import uncovered
from pipelines.bronze.damaged_batches import OwnCrcs, own_crcs, with_own_crcs
from pipelines.bronze.log_ranges import LogRange, log_batch_rows
from pipelines.bronze.new_records import APPLICATION, ranges_of
from pipelines.delta import NewFile, PendingAppend, WriteTarget
from pipelines.sources.kraft_log import BATCH_COLUMNS
from pipelines.tables.bronze import LOG_BATCHES, REPLICA
from pipelines.tasks import Tasks
from replica.metadata.redact import Redactor

_READ = LOG_BATCHES.arrow_columns(
    [*(column.name for column in REPLICA), *(name for name, _ in BATCH_COLUMNS)]
)
"""The columns of LOG_BATCHES that are read from a segment."""


def write_seen_batches(
    lake: delta.Lake, captured: Sequence[Captured], redactor: Redactor | None, tasks: Tasks
) -> int:
    """Updates the table. Gives the number of added rows. captured: the looks of a round.

    Tasks write files for windows that change no row, and one commit adds them. The rows of other
    windows are merged, a few windows in one commit. Commits of a killed ingest change nothing when
    the round runs again. Raises the errors of pipelines.delta.PendingAppend, and deltalake's of a
    merge.
    """
    append = PendingAppend.begun(lake, LOG_BATCHES)
    parts = ranges_of(captured, tasks.at_once)
    folding = _Folding(
        lake,
        redactor,
        own_crcs(lake, captured, parts, redactor, tasks),
        {one.look.replica: _moment(one) for one in captured},
    )
    found = windows(lake, append.version, captured, parts)
    new = [window for window in found if window.is_new]
    files = append.in_tasks(tasks, folding.write, new)
    added = append.commit([one for one in files if one is not None], APPLICATION).rows
    known = [window for window in found if not window.is_new]
    for begin in range(0, len(known), tasks.at_once):
        added += _merge(lake, folding, known[begin : begin + tasks.at_once], tasks)
    return added


@dataclass(frozen=True)
class _Folding:
    """Values that all windows of a round share. own: as of with_own_crcs."""

    lake: delta.Lake
    redactor: Redactor | None
    own: OwnCrcs
    moments: log_batches.Moments

    def write(self, window: FoldWindow, target: WriteTarget) -> NewFile | None:
        """Runs in a task. Writes the rows of batches without a known row into a file of
        the table."""
        nothing = LOG_BATCHES.arrow_schema.empty_table()
        return target.write(self._fold(nothing, window).to_batches())

    def changed(self, window: FoldWindow, version: int) -> pa.Table:
        """Runs in a task. Gives the rows that the window adds to a version of the table, or
        changes."""
        known = delta.rows_where(self.lake, LOG_BATCHES, window.where, version)
        return self._fold(known, window)

    def _fold(self, known: pa.Table, window: FoldWindow) -> pa.Table:
        read = [
            stretch.of(batch)
            for stretch in window.stretches
            for part in stretch.parts
            for batch in _read(part, self.redactor, self.own)
        ]
        moments = {one.replica: self.moments[one.replica] for one in window.stretches}
        return log_batches.fold(known, pa.Table.from_batches(read, _READ), moments)


def _merge(lake: delta.Lake, folding: _Folding, some: Sequence[FoldWindow], tasks: Tasks) -> int:
    """Merges the rows; returns how many were added."""
    version = delta.size(lake, LOG_BATCHES).version
    rows = pa.concat_tables(tasks.map(partial(folding.changed, version=version), some))
    if not rows.num_rows:
        return 0
    bounds = pc.min_max(rows["base_offset"]).as_py()
    return delta.merge_values(
        lake,
        LOG_BATCHES,
        rows,
        version,
        columns=FOLDED_COLUMNS,
        # literals, so that files with other batches are left out
        where=f"t.base_offset BETWEEN {bounds['min']} AND {bounds['max']}",
    )


def _read(part: LogRange, redactor: Redactor | None, own: OwnCrcs) -> Iterator[pa.RecordBatch]:
    for batch in log_batch_rows(part, redactor):
        columns = batch.select(_READ.names).columns
        cells = [cell.cast(field.type) for cell, field in zip(columns, _READ, strict=True)]
        yield with_own_crcs(pa.RecordBatch.from_arrays(cells, schema=_READ), own)


def _moment(one: Captured) -> FoldedCapture:
    directory = one.look.directory
    later = [Later(row.at, row.log_start_offset, row.uncovered) for row in one.later]
    return FoldedCapture(
        at=one.at,
        previous_at=one.previous_at,
        next_at=one.next_at,
        log_start_offset=directory.log_start_offset,
        uncovered=uncovered(directory),
        later=tuple(later),
        # rows of batches in known bytes of the log are not among those that were read
        kept=tuple(held_by(one)) if has_deleted(one) else (),
    )
