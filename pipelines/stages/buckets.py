"""The replay of a large cluster in parts. Each part has the entities of a bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.cluster.branch import BranchPiece, LostTail
from pipelines.cluster.rows import Row
from pipelines.cyclic_garbage import no_search_for_cycles
from pipelines.data_files import data_set
from pipelines.gold.metadata_changes import metadata_changes, reported_changes
from pipelines.gold.metadata_history import metadata_history
from pipelines.gold.state_ranges import state_ranges
from pipelines.quality.judge import judge_files
from pipelines.replay.compared import REPLAYED
from pipelines.replay.entries import SPREAD
from pipelines.replay.parts import Part
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan
from pipelines.replay.reading import (
    BranchLog,
    BranchReader,
    rows_of,
    rows_of_one,
    walk,
)
from pipelines.replay.written import CHANGE, RANGE, VERSION
from pipelines.stages.output import Output, Replaced, UnitResult, table_of
from pipelines.stages.pins import Pins
from pipelines.stages.stored import StoredTables
from pipelines.tables import gold
from pipelines.tables.contract import Contract

_NOTHING = Replaced(())
_FILE_BYTES = 128 * 1024 * 1024
"""The bytes of Arrow that one data file is made from."""


@dataclass(frozen=True)
class Bucket:
    """A unit: one part of a cluster's replay, the entities of a bucket."""

    cluster_id: str
    bucket: int
    buckets: int
    log: BranchLog
    plan: ReplayPlan
    records: int


class BucketFacts(NamedTuple):
    """The result of replay_bucket besides its data files: rows of REPLAYED and of
    gold.state_ranges."""

    compared: list[Row]
    ranges: list[Row]


def replay_bucket(unit: Bucket, pins: Pins) -> UnitResult:
    """Makes the bucket's rows of gold.metadata_history and gold.metadata_changes."""
    tables = StoredTables(unit.cluster_id, pins, {}, leaves_out=not unit.log.is_whole)
    reader = BranchReader(tables, unit.log.is_whole)
    rows = rows_of(reader, unit.log, unit.plan, unit.bucket, unit.buckets)
    part = Part(unit.cluster_id, unit.bucket, unit.buckets, unit.plan, rows)
    return replay_part(part, unit.log.tails, pins)


@dataclass(frozen=True)
class Spread:
    """A unit: records of a cluster that are spread over the buckets of the cluster's replay."""

    bucket: Bucket
    of: BranchPiece | PlannedSnapshot | LostTail
    """A piece of the branch, a whole snapshot, or a superseded branch."""
    group: int
    """The number of the cluster's first bucket among the buckets of all clusters."""
    records: int


SPREAD_GROUPS = pa.schema([pa.field("group", pa.int32(), nullable=False), *SPREAD])
"""Rows of SPREAD with the number of their bucket among the buckets of all clusters."""


def spread_units(bucket: Bucket, group: int) -> Iterator[Spread]:
    """The units that spread the records of a cluster's replay. bucket: the cluster's first bucket.
    group: as in Spread."""
    for piece in bucket.log.pieces:
        size = sum(min(one.end, one.high) - max(one.first, one.low) for one in piece)
        yield Spread(bucket, piece, group, size)
    for snapshot in bucket.plan.snapshots:
        yield Spread(bucket, snapshot, group, snapshot.end_offset)
    for tail in bucket.log.tails:
        yield Spread(bucket, tail, group, tail.last_offset - tail.position)


def spread_records(unit: Spread, pins: Pins) -> Iterator[pa.RecordBatch]:
    """The rows of SPREAD_GROUPS that a unit gives to the parts of the replay."""
    of = unit.bucket
    tables = StoredTables(of.cluster_id, pins, {}, leaves_out=not of.log.is_whole)
    reader = BranchReader(tables, of.log.is_whole)
    for bucket in range(of.buckets):
        for batch in rows_of_one(reader, unit.of, of.plan, bucket, of.buckets):
            groups = pa.repeat(pa.scalar(unit.group + bucket, pa.int32()), batch.num_rows)
            yield pa.RecordBatch.from_arrays([groups, *batch.columns], schema=SPREAD_GROUPS)


def walk_bucket(unit: Bucket, rows: Iterator[pa.RecordBatch], pins: Pins) -> UnitResult:
    """Makes the rows of replay_bucket, from rows that a shuffle has sorted."""
    mine = (
        pa.Table.from_batches([batch]).select(SPREAD.names).cast(SPREAD).to_batches()
        for batch in rows
    )
    part = Part(unit.cluster_id, unit.bucket, unit.buckets, unit.plan, chain.from_iterable(mine))
    return replay_part(part, unit.log.tails, pins)


def replay_part(part: Part, tails: Sequence[LostTail], pins: Pins) -> UnitResult:
    """Walks over the records of one part of a replay, and writes the changes that they make."""
    out = Output(pins, _NOTHING)
    versions = _Files(out, gold.METADATA_HISTORY, metadata_history)
    agreed = _Files(out, gold.METADATA_CHANGES, reported_changes)
    contested = _Files(out, gold.METADATA_CHANGES, metadata_changes, size=None)
    facts = BucketFacts([], [])
    with no_search_for_cycles():
        for batch in walk(part):
            if not batch.num_rows:
                continue
            if batch.schema.equals(REPLAYED):
                facts.compared.extend(batch.to_pylist())
                continue
            what = batch.column("what")[0].as_py()
            if what == VERSION:
                versions.add(batch)
            elif what == RANGE:
                facts.ranges.extend(state_ranges(pa.Table.from_batches([batch])).to_pylist())
            else:
                assert what == CHANGE, what
                is_contested = pa.array(_is_contested(batch, tails))
                agreed.add(batch.filter(pc.invert(is_contested)))
                contested.add(batch.filter(is_contested))
    for files in (versions, agreed, contested):
        files.end()
    for contract in (gold.METADATA_HISTORY, gold.METADATA_CHANGES):
        names = [file.name for one in out.made if one.table == contract.name for file in one.files]
        if names:
            out.note(judge_files(contract, data_set(pins.lake.path_of(contract), names)))
    return out.result(facts)


def _is_contested(changes: pa.RecordBatch, tails: Sequence[LostTail]) -> npt.NDArray[np.bool_]:
    """For each change, whether a superseded branch may have the same change. Of equal changes only
    one change is kept."""
    offsets = changes.column("record_offset").to_numpy()
    found = np.zeros(len(offsets), np.bool_)
    for tail in tails:
        found |= (offsets >= tail.position) & (offsets <= tail.last_offset)
    return found


@dataclass
class _Files:
    """Files of one table, written as their rows come."""

    out: Output
    contract: Contract
    made: Callable[[pa.Table], pa.Table]
    """Makes the table's rows from rows of WRITTEN."""
    size: int | None = _FILE_BYTES
    """The bytes of Arrow in one file; None where one file gets all rows."""
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_bytes: int = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds the rows. Raises OSError, UnwritableFileError."""
        if batch.num_rows:
            self.waiting.append(batch)
            self.waiting_bytes += batch.nbytes
            if self.size is not None and self.waiting_bytes >= self.size:
                self._write()

    def end(self) -> None:
        """Writes the last rows. Raises the errors of `add`."""
        if self.waiting:
            self._write()

    def _write(self) -> None:
        rows = table_of(self.contract, self.made(pa.Table.from_batches(self.waiting)))
        self.out.write(self.contract, rows)
        self.waiting, self.waiting_bytes = [], 0
