"""The agreed branches of large clusters replayed in parts: each part in a task, which reads the
records that it needs, and writes data files of the tables that have a row for each record.

Before that, tasks find which records can be replayed: each reads one piece of a log, or one
snapshot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.clusters.computing import table_of
from pipelines.cyclic_garbage import no_search_for_cycles
from pipelines.data_files import NewFile
from pipelines.delta.committing import WriteTarget
from pipelines.delta.direct import results_of
from pipelines.in_memory.branch import LostTail
from pipelines.in_memory.metadata import (
    changes_told,
    metadata_changes,
    metadata_history,
    state_ranges,
)
from pipelines.in_memory.plan import Surveyed, surveyed
from pipelines.in_memory.plan import planned as planned_of
from pipelines.in_memory.replay import BranchRange, rows_of, walk
from pipelines.in_memory.rows import Row
from pipelines.lake import Lake
from pipelines.large.log import ClusterLog
from pipelines.replay.compared import REPLAYED, folded
from pipelines.replay.parts import Part
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan
from pipelines.replay.written import CHANGE, RANGE, VERSION
from pipelines.tables import gold
from pipelines.tables.contract import Contract
from pipelines.tasks import Tasks

_RECORDS_OF_PART = 4_000_000
"""The most records of a part, which bound the memory of a task. Each part gets every topic."""
_RECORDS_OF_ONE = 100_000
"""The most records of a cluster that is one part: each part reads all records of its cluster."""
_FILE_BYTES = 128 * 1024 * 1024
"""The bytes of Arrow of which one data file is written."""


class ReplayFiles(NamedTuple):
    """The results of a replay. history, changes: files of gold.metadata_history and
    gold.metadata_changes that no commit names yet. compared, ranges: rows of REPLAYED and of
    gold.state_ranges."""

    history: list[NewFile]
    changes: list[NewFile]
    compared: list[Row]
    ranges: list[Row]


class _PartOf(NamedTuple):
    cluster_id: str
    bucket: int
    buckets: int


def replayed(tasks: Tasks, lake: Lake, logs: Logs) -> ReplayFiles:
    """The replay of the agreed branches. The tables of both kinds of files must exist.

    Raises UnwritableFileError where a task can't write, and what delta-rs raises. Nothing refers to
    the files of a replay that fails: VACUUM removes them.
    """
    plans = planned(tasks, logs)
    parts = [
        _PartOf(cluster_id, bucket, buckets)
        for cluster_id in sorted(plans, key=lambda one: -logs[one].committed.entries)
        for buckets in [buckets_for(tasks.at_once, logs[cluster_id].committed.entries)]
        for bucket in range(buckets)
    ]
    history, changes = (
        WriteTarget.of(lake, one) for one in (gold.METADATA_HISTORY, gold.METADATA_CHANGES)
    )
    function = partial(_replay, logs=logs, plans=plans, history=history, changes=changes)
    told = results_of(tasks, function, parts, history.folder)
    return ReplayFiles(
        [file for one in told for file in one.history],
        [file for one in told for file in one.changes],
        folded(row for one in told for row in one.compared),
        [row for one in told for row in one.ranges],
    )


def buckets_for(at_once: int, records: int) -> int:
    """The number of parts in which a cluster with this number of records is replayed. at_once: how
    many parts run side by side."""
    if records <= _RECORDS_OF_ONE:
        return 1
    return max(at_once, records // _RECORDS_OF_PART)


def _replay(
    part: _PartOf,
    *,
    logs: Logs,
    plans: dict[str, ReplayPlan],
    history: WriteTarget,
    changes: WriteTarget,
) -> ReplayFiles:
    """Replays one part. Runs in a task."""
    log, plan = logs[part.cluster_id], plans[part.cluster_id]
    versions = _Files(history, gold.METADATA_HISTORY, metadata_history)
    agreed = _Files(changes, gold.METADATA_CHANGES, changes_told)
    contested = _Files(changes, gold.METADATA_CHANGES, metadata_changes, size=None)
    told = ReplayFiles([], [], [], [])
    rows = rows_of(log, plan, part.bucket, part.buckets)
    with no_search_for_cycles():
        for batch in walk(Part(*part, plan, rows)):
            if not batch.num_rows:
                continue
            if batch.schema.equals(REPLAYED):
                told.compared.extend(batch.to_pylist())
                continue
            what = batch.column("what")[0].as_py()
            if what == VERSION:
                versions.add(batch)
            elif what == RANGE:
                told.ranges.extend(state_ranges(pa.Table.from_batches([batch])).to_pylist())
            else:
                assert what == CHANGE, what
                is_contested = _is_contested(batch, log.tails)
                if not is_contested.any():
                    agreed.add(batch)
                    continue
                agreed.add(batch.filter(pa.array(~is_contested)))
                contested.add(batch.filter(pa.array(is_contested)))
    told.history.extend(versions.end())
    told.changes.extend([*agreed.end(), *contested.end()])
    return told


def _is_contested(changes: pa.RecordBatch, tails: Iterable[LostTail]) -> npt.NDArray[np.bool_]:
    """Whether a branch that lost may have the same change. Of equal changes only one is kept."""
    offsets = changes.column("record_offset").to_numpy()
    found = np.zeros(len(offsets), np.bool_)
    for tail in tails:
        found |= (offsets >= tail.position) & (offsets <= tail.last_offset)
    return found


@dataclass
class _Files:
    """Files of one table, written as their rows come. made: a function that makes the table's rows
    from rows of WRITTEN. size: the bytes of Arrow in one file; None where all rows are to be in one
    file."""

    target: WriteTarget
    contract: Contract
    made: Callable[[pa.Table], pa.Table]
    size: int | None = _FILE_BYTES
    files: list[NewFile] = field(default_factory=list)
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds the rows. Raises OSError, UnwritableFileError."""
        if batch.num_rows:
            self.waiting.append(batch)
            self.waiting_bytes += batch.nbytes
            if self.size is not None and self.waiting_bytes >= self.size:
                self._write()

    def end(self) -> list[NewFile]:
        """All files. Raises the errors of `add`."""
        if self.waiting:
            self._write()
        return self.files

    def _write(self) -> None:
        rows = table_of(self.contract, self.made(pa.Table.from_batches(self.waiting)))
        file = self.target.write(rows.to_batches())
        if file is not None:
            self.files.append(file)
        self.waiting, self.waiting_bytes = [], 0


Logs: TypeAlias = Mapping[str, ClusterLog]
"""The log of each cluster, by cluster_id."""


class _Stretch(NamedTuple):
    cluster_id: str
    of: BranchRange | PlannedSnapshot


def planned(tasks: Tasks, logs: Logs) -> dict[str, ReplayPlan]:
    """The plan of each cluster that has records to replay, or a whole snapshot.

    Reads all records of the agreed branches and of whole snapshots, a piece in each part of the
    work. Raises what delta-rs raises.
    """
    stretches = [
        _Stretch(cluster_id, one) for cluster_id, log in logs.items() for one in _stretches(log)
    ]
    pieces: defaultdict[str, list[Surveyed]] = defaultdict(list)
    partial_contents: defaultdict[str, list[str]] = defaultdict(list)
    told = tasks.results(partial(_surveyed, logs=logs), stretches)
    for (cluster_id, of), found in zip(stretches, told, strict=True):
        if isinstance(of, BranchRange):
            pieces[cluster_id].append(found)
        elif found.unknown:
            partial_contents[cluster_id].append(of.content_sha256)
    plans = {
        one: planned_of(log.committed, pieces[one], log.snapshots, partial_contents[one])
        for one, log in logs.items()
    }
    return {cluster_id: one for cluster_id, one in plans.items() if one.runs or one.snapshots}


def _stretches(log: ClusterLog) -> Iterator[BranchRange | PlannedSnapshot]:
    """The pieces of the branch, and each content of a snapshot under one of its ids."""
    yield from log.pieces
    yield from {one.content_sha256: one for one in log.snapshots}.values()


def _surveyed(stretch: _Stretch, *, logs: Logs) -> Surveyed:
    """What the records tell a plan. Runs in a task."""
    log, of = logs[stretch.cluster_id], stretch.of
    if isinstance(of, BranchRange):
        return surveyed(log.branch(of).rows)
    return surveyed(log.content(of.content_sha256, of.epoch))
