"""bronze.log_batches updated with the batches of a round's captures, window by window.

pipelines.bronze.log_batches.fold does the work, in this process or in Spark's tasks.

A damaged batch may hold a secret, so the bulk reader shows a keyed CRC for it, as for a batch with
a secret. If the lake, or another file of the round, has the same batch undamaged, that batch shows
whether there is a secret. Then both are the same row of bronze.log_batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines import delta
from pipelines.bronze import log_batches
from pipelines.bronze.batch_spans import FOLDED_COLUMNS, FoldedCapture
from pipelines.bronze.batch_windows import FoldWindow, has_deleted, held_by, windows
from pipelines.bronze.captured import Captured, covered_from, uncovered_by
from pipelines.bronze.files import new_segments
from pipelines.bronze.log_ranges import LogRange, log_batch_rows
from pipelines.bronze.new_records import APPLICATION, ranges_of
from pipelines.delta import NewFile, PendingAppend, WriteTarget
from pipelines.delta.task_files import Writing
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Grain, Stage
from pipelines.sources.kraft_log import BATCH_COLUMNS
from pipelines.tables.bronze import LOG_BATCHES
from pipelines.tables.keys import REPLICA_KEYS
from replica.metadata.redact import Redactor
from replica.scan.compact import column_of

_READ = LOG_BATCHES.arrow_columns([*REPLICA_KEYS, *BATCH_COLUMNS])
"""The columns of LOG_BATCHES that are read from a segment."""


def write_seen_batches(
    lake: delta.Lake, captured: Sequence[Captured], redactor: Redactor | None, runner: Runner
) -> int:
    """Updates bronze.log_batches. Gives the number of added rows. captured: the captures of a
    round. redactor: None keeps the CRCs of batches that may hold secrets.

    Tasks write files for windows that change no row, and one commit adds the files. The rows of
    other windows are merged, a few windows in one commit. Commits of a killed ingest change nothing
    when the round runs again. Raises the errors of pipelines.delta.PendingAppend, and deltalake's
    errors of a merge.
    """
    append = PendingAppend.begun(lake, LOG_BATCHES)
    parts = ranges_of(new_segments(captured), runner.at_once)
    own = own_crcs(lake, captured, parts, redactor, runner)
    moments = {one.capture.replica: _moment(one) for one in captured}
    found = [
        _Unit.of(window, moments, own) for window in windows(lake, append.version, captured, parts)
    ]
    folding = _Folding(lake, redactor)
    new = [one for one in found if one.window.is_new]
    stage: Writing[_Unit, NewFile | None] = Writing(
        "fold", Grain.OFFSETS, folding.write, LOG_BATCHES.name
    )
    files = append.written_by(runner, stage, new)
    added = append.commit([one for one in files if one is not None], APPLICATION).rows
    known = [one for one in found if not one.window.is_new]
    for begin in range(0, len(known), runner.at_once):
        added += _merge(lake, folding, known[begin : begin + runner.at_once], runner)
    return added


@dataclass(frozen=True, slots=True)
class _Unit:
    """A window, and the data that its fold needs about its replicas and clusters."""

    window: FoldWindow
    moments: log_batches.Moments
    """The captures of the window's replicas."""
    own: OwnCrcs
    """The results of own_crcs for the window's clusters."""

    @staticmethod
    def of(window: FoldWindow, moments: log_batches.Moments, own: OwnCrcs) -> _Unit:
        """The unit of a window. moments, own: those of the round."""
        replicas = {stretch.replica for stretch in window.stretches}
        clusters = {replica.cluster_id for replica in replicas}
        mine = {key: crc for key, crc in own.items() if key[0] in clusters}
        return _Unit(window, {replica: moments[replica] for replica in replicas}, mine)


@dataclass(frozen=True)
class _Folding:
    """The data that all windows of a round share."""

    lake: delta.Lake
    redactor: Redactor | None

    def write(self, unit: _Unit, *, target: WriteTarget) -> NewFile | None:
        """Runs in a task. Writes the rows of batches without a known row into a file of the table.
        Gives the file; None where there are no such rows."""
        nothing = LOG_BATCHES.arrow_schema.empty_table()
        return target.write(self._fold(nothing, unit).to_batches())

    def changed(self, unit: _Unit, version: int) -> pa.Table:
        """Runs in a task. Gives the rows that the window adds to a version of the table, or
        changes."""
        return self._fold(unit.window.rows(self.lake, version), unit)

    def _fold(self, known: pa.Table, unit: _Unit) -> pa.Table:
        read = [
            stretch.of(batch)
            for stretch in unit.window.stretches
            for part in stretch.parts
            for batch in _read(part, self.redactor, unit.own)
        ]
        return log_batches.fold(known, pa.Table.from_batches(read, _READ), unit.moments)


def _merge(lake: delta.Lake, folding: _Folding, some: Sequence[_Unit], runner: Runner) -> int:
    """Merges the rows of the windows into the table. Gives the number of added rows."""
    version = delta.version(lake, LOG_BATCHES)
    stage: Stage[_Unit, pa.Table] = Stage(
        "fold known", Grain.OFFSETS, partial(folding.changed, version=version), in_threads=True
    )
    rows = pa.concat_tables(runner.run(stage, some))
    if not rows.num_rows:
        return 0
    bounds = pc.min_max(rows["base_offset"]).as_py()
    return delta.merge_values(
        lake,
        LOG_BATCHES,
        rows,
        version,
        columns=FOLDED_COLUMNS,
        # literals let delta-rs skip files with other batches
        where=f"t.base_offset BETWEEN {bounds['min']:d} AND {bounds['max']:d}",
    )


def _read(part: LogRange, redactor: Redactor | None, own: OwnCrcs) -> Iterator[pa.RecordBatch]:
    for batch in log_batch_rows(part, redactor):
        columns = batch.select(_READ.names).columns
        cells = [cell.cast(field.type) for cell, field in zip(columns, _READ, strict=True)]
        yield with_own_crcs(pa.RecordBatch.from_arrays(cells, schema=_READ), own)


def _moment(one: Captured) -> FoldedCapture:
    directory = one.capture.directory
    return FoldedCapture(
        at=one.at,
        previous_at=one.previous_at,
        covered_from=covered_from(directory.log_start_offset, directory.first_offset),
        uncovered=uncovered_by(one.capture),
        later=one.later,
        # batches in known bytes of the log are not among the batches that were read
        still_held=tuple(held_by(one)) if has_deleted(one) else (),
    )


_KEY = ("cluster_id", "base_offset", "leader_epoch", "crc")
_Key = tuple[str, int, int, int]
"""The key of a batch in any log of a cluster: (cluster_id, base offset, leader epoch, CRC)."""
OwnCrcs = Mapping[_Key, int]
"""By the key of a damaged batch: the CRC that this batch has where it is undamaged."""


def own_crcs(
    lake: delta.Lake,
    captured: Sequence[Captured],
    parts: Sequence[LogRange],
    redactor: Redactor | None,
    runner: Runner,
) -> OwnCrcs:
    """The CRCs of damaged batches of the round; none where `redactor` is None. A batch is left out
    if neither the lake nor one of the parts has an undamaged copy of it."""
    damaged = set(_damaged(captured))
    if redactor is None or not damaged:
        return {}
    found = _whole_in_lake(lake, damaged)
    whole = partial(_whole_in, damaged=damaged, redactor=redactor)
    stage: Stage[LogRange, set[_Key]] = Stage("undamaged", Grain.FILE_RANGE, whole)
    for those in runner.run(stage, parts):
        found |= those
    return {(*key[:3], redactor.batch_crc(key[1], key[3])): key[3] for key in found}


def with_own_crcs(batches: pa.RecordBatch, own: OwnCrcs) -> pa.RecordBatch:
    """The batches. A damaged batch gets the CRC that `own` has for it."""
    if not own or pc.all(batches.column("crc_valid")).as_py():
        return batches
    keys = zip(*(batches.column(name).to_pylist() for name in _KEY), strict=True)
    valid = batches.column("crc_valid").to_pylist()
    crcs = [
        key[3] if is_valid else own.get(key, key[3])
        for key, is_valid in zip(keys, valid, strict=True)
    ]
    field = batches.schema.field("crc")
    return batches.set_column(
        batches.schema.get_field_index("crc"), field, pa.array(crcs, field.type)
    )


def _whole_in_lake(lake: delta.Lake, damaged: Set[_Key]) -> set[_Key]:
    offsets = [key[1] for key in damaged]
    between = f"crc_valid AND base_offset BETWEEN {min(offsets)} AND {max(offsets)}"
    rows = delta.values(lake, LOG_BATCHES, _KEY, between)
    return {key for row in rows if (key := tuple(row[name] for name in _KEY)) in damaged}


def _whole_in(part: LogRange, *, damaged: Set[_Key], redactor: Redactor) -> set[_Key]:
    found: set[_Key] = set()
    for batch in log_batch_rows(part, redactor):
        whole = batch.filter(batch.column("crc_valid"))
        keys = zip(*(whole.column(name).to_pylist() for name in _KEY), strict=True)
        found.update(key for key in keys if key in damaged)
    return found


def _damaged(captured: Sequence[Captured]) -> Iterator[_Key]:
    """The key of each damaged batch, with the CRC in its header."""
    for one, segment in new_segments(captured):
        batches = segment.scan.new_batches
        for number in np.flatnonzero(column_of(batches, "crc_valid") == 0).tolist():
            header = batches[number].header
            cluster = one.capture.replica.cluster_id
            yield cluster, header.base_offset, header.leader_epoch, header.crc
