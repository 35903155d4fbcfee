"""bronze.log_batches brought to what a round's captures hold: in this process where few rows are
concerned, by Spark's tasks otherwise, both by pipelines.bronze.log_batches.fold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType
from pyspark.storagelevel import StorageLevel

from pipelines import delta
from pipelines.bronze import log_batches
from pipelines.bronze.captured import Captured
from pipelines.bronze.coverage import uncovered
from pipelines.bronze.damaged_batches import OwnCrcs, own_crcs, with_own_crcs
from pipelines.bronze.log_ranges import LogRange, log_batch_rows
from pipelines.bronze.new_records import APPLICATION, ranges_of
from pipelines.bronze.replica_rows import sql_of_replica
from pipelines.bronze.wanted import comes_once
from pipelines.delta import Append, NewFile, Target
from pipelines.sources.kraft_log import BATCH_COLUMNS
from pipelines.tables.bronze import BATCH_KEYS, LOG_BATCHES, REPLICA
from pipelines.tasks import Here, OnSpark, Tasks
from replica.format.directory import SegmentFile
from replica.metadata.redact import Redactor
from replica.scan.compact import column_of

_ROWS_AT_ONCE = 500_000
"""Of a task that folds: some 200 MB as Arrow."""
_READ = StructType(
    [
        LOG_BATCHES.schema[name]
        for name in (*(column.name for column in REPLICA), *(name for name, _ in BATCH_COLUMNS))
    ]
)
"""What is read of a segment: columns of LOG_BATCHES."""
_READ_ARROW = pa.schema([LOG_BATCHES.arrow_schema.field(name) for name in _READ.names])


@dataclass(frozen=True)
class SeenBatches:
    """The step of one round. captured: what the round has looked at."""

    lake: delta.Lake
    captured: Sequence[Captured]
    redactor: Redactor | None

    @property
    def touched(self) -> Callable[[Callable[[str], str]], str]:
        """Which rows of the table a capture may change, in SQL whose literals a function makes."""
        return lambda text: " OR ".join(f"({_touched(one, text)})" for one in self.captured)

    def known_rows(self, version: int | None = None) -> int:
        """How many rows of a version of the table they are, None for the newest. UsageError where
        the lake has no such table."""
        query = f"SELECT count(*) AS n FROM t WHERE {self.touched(delta.text)}"  # noqa: S608
        count: int = delta.answer(self.lake, LOG_BATCHES, query, version)["n"][0].as_py()
        return count

    def _new_count(self) -> int:
        """How many batches the round has read."""
        return sum(
            len(segment.scan.new_batches) for one in self.captured for segment in _segments(one)
        )

    def write_here(self) -> int:
        """How many rows were added. The driver holds all rows that may change."""
        version = delta.size(self.lake, LOG_BATCHES).version
        parts = ranges_of(self.captured, 1)
        own = own_crcs(self.lake, self.captured, parts, self.redactor, Here())
        known = delta.rows_where(self.lake, LOG_BATCHES, self.touched(delta.text), version)
        read = [batch for part in parts for batch in _read(part, self.redactor, own)]
        rows = log_batches.fold(known, pa.Table.from_batches(read, _READ_ARROW), self._moments())
        lowest = None if not rows.num_rows else f"t.base_offset >= {_lowest(rows)}"
        changed = log_batches.FOLDED_COLUMNS
        return delta.merge_values(
            self.lake, LOG_BATCHES, rows, version, columns=changed, where=lowest
        ).inserted

    def write_by(self, spark: SparkSession) -> int:
        """How many rows were added. The rows stay with the tasks."""
        append = Append.begun(self.lake, LOG_BATCHES)
        tasks = OnSpark(spark)
        parts = ranges_of(self.captured, tasks.at_once)
        own = own_crcs(self.lake, self.captured, parts, self.redactor, tasks)
        if not own and comes_once(self.captured) and not self.known_rows(append.version):
            return self._write_new(append, tasks, parts)
        return self._write_folded(spark, parts, own)

    def _write_new(self, append: Append, tasks: Tasks, parts: Sequence[LogRange]) -> int:
        """Of a round that changes no row, and in which no batch is twice: no part needs another
        one, so each task makes the rows of some parts and writes them."""
        each = -(-len(parts) // max(tasks.at_once, -(-self._new_count() // _ROWS_AT_ONCE)))
        together = [tuple(parts[at : at + each]) for at in range(0, len(parts), each)]
        work = partial(_write_first, redactor=self.redactor, moments=self._moments())
        files = append.in_tasks(tasks, work, together)
        return append.commit([one for one in files if one is not None], APPLICATION).rows

    def _write_folded(self, spark: SparkSession, parts: Sequence[LogRange], own: OwnCrcs) -> int:
        held = delta.size(self.lake, LOG_BATCHES)
        table = delta.read(spark, self.lake, LOG_BATCHES, version=held.version)
        known = table.where(self.touched(delta.spark_text))
        count = self._new_count() + (held.row_count or 0)
        at_once = max(OnSpark(spark).at_once, -(-count // _ROWS_AT_ONCE))
        rows = self._folded(known, _read_by(spark, parts, self.redactor, own), at_once)
        if held.row_count == 0:
            return delta.add(self.lake, LOG_BATCHES, rows, APPLICATION, held.version).rows
        rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            lowest = rows.agg(F.min("base_offset")).collect()[0][0]
            if lowest is None:
                return 0
            merged = delta.merge(
                spark,
                self.lake,
                LOG_BATCHES,
                rows,
                # a literal, by which Delta leaves out files with older batches
                where=f"t.base_offset >= {lowest}",
                update_set={name: f"s.{name}" for name in log_batches.FOLDED_COLUMNS},
            )
        finally:
            rows.unpersist()
        return merged.inserted

    def _folded(self, known: DataFrame, batches: DataFrame, at_once: int) -> DataFrame:
        """What belongs to a batch meets in one task."""
        moments = self._moments()
        keys = list(BATCH_KEYS)
        old = known.select(*keys, F.struct(*LOG_BATCHES.column_names).alias("old"))
        new = batches.select(*keys, F.struct(*_READ.names).alias("new"))
        both = old.unionByName(new, allowMissingColumns=True).repartition(at_once, *keys)

        def fold(rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            given = list(rows)
            known = _structs(given, "old", LOG_BATCHES.arrow_schema)
            seen = _structs(given, "new", _READ_ARROW)
            yield from log_batches.fold(known, seen, moments).to_batches()

        return both.mapInArrow(fold, LOG_BATCHES.schema)

    def _moments(self) -> log_batches.Moments:
        return {one.look.replica: _moment(one) for one in self.captured}


def _write_first(
    parts: Sequence[LogRange],
    target: Target,
    redactor: Redactor | None,
    moments: log_batches.Moments,
) -> NewFile | None:
    """In a task: the rows of batches that no row is known of, into a file of the table."""
    nothing = LOG_BATCHES.arrow_schema.empty_table()
    read = [batch for part in parts for batch in _read(part, redactor, {})]
    rows = log_batches.fold(nothing, pa.Table.from_batches(read, _READ_ARROW), moments)
    return target.write(rows.to_batches())


def _read(part: LogRange, redactor: Redactor | None, own: OwnCrcs) -> Iterator[pa.RecordBatch]:
    for batch in log_batch_rows(part, redactor):
        columns = batch.select(_READ_ARROW.names).columns
        cells = [cell.cast(field.type) for cell, field in zip(columns, _READ_ARROW, strict=True)]
        yield with_own_crcs(pa.RecordBatch.from_arrays(cells, schema=_READ_ARROW), own)


def _read_by(
    spark: SparkSession, parts: Sequence[LogRange], redactor: Redactor | None, own: OwnCrcs
) -> DataFrame:
    """A task for each part."""
    given = list(parts)

    def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (n for batch in numbers for n in batch.column("id").to_pylist()):
            yield from _read(given[number], redactor, own)

    return spark.range(0, len(given), 1, max(1, len(given))).mapInArrow(read, _READ)


def _structs(batches: Sequence[pa.RecordBatch], name: str, schema: pa.Schema) -> pa.Table:
    """The structs of a column that are there, as rows."""
    found = []
    for batch in batches:
        structs = batch.column(name)
        there = structs.filter(structs.is_valid())
        cells = [there.field(field.name).cast(field.type) for field in schema]
        found.append(pa.RecordBatch.from_arrays(cells, schema=schema))
    return pa.Table.from_batches(found, schema)


def _lowest(rows: pa.Table) -> int:
    lowest: int = pc.min(rows["base_offset"]).as_py()
    return lowest


def _touched(one: Captured, text: Callable[[str], str]) -> str:
    """Which rows of LOG_BATCHES a capture may change.

    Bytes of the log that are known from the newest capture are in this capture, too, so the rows of
    their batches stay as they are. A row that is closed changes only where its batch comes again,
    among the new batches. A .log.deleted file may hold the batch of any row.
    """
    replica, held = sql_of_replica(one.look.replica, text), _held(one)
    if not held or _has_deleted(one):
        return replica
    new = [
        int(column_of(segment.scan.new_batches, "base_offset").min())
        for segment in one.look.directory.segments
        if segment.scan.new_batches
    ]
    may_return = f" OR base_offset >= {min(new)}" if new else ""
    is_known = " OR ".join(f"base_offset BETWEEN {start} AND {end - 1}" for start, end in held)
    return f"{replica} AND NOT ({is_known}) AND (last_seen IS NULL{may_return})"


def _held(one: Captured) -> list[tuple[int, int]]:
    """Offsets in bytes of the log that were known, end exclusive; none where none were."""
    known = [segment for segment in one.look.directory.segments if segment.scan.sparse_until]
    return [] if one.look.base is None else _joined(known)


def _segments(one: Captured) -> Sequence[SegmentFile]:
    return (*one.look.directory.segments, *one.look.directory.deleted_segments)


def _has_deleted(one: Captured) -> bool:
    """Whether there are .log.deleted files, or were in the newest capture."""
    base = one.look.base
    return bool(one.look.directory.deleted_segments) or (base is not None and base.has_deleted)


def _joined(segments: Sequence[SegmentFile]) -> list[tuple[int, int]]:
    """The offsets of the segments' known bytes, end exclusive; neighbours as one range."""
    ranges: list[tuple[int, int]] = []
    for segment in segments:
        start = segment.scan.batches[0].header.base_offset
        end = segment.scan.next_offset_of_known
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return ranges


def _moment(one: Captured) -> log_batches.Moment:
    directory = one.look.directory
    later = [log_batches.Later(row.at, row.log_start_offset, row.uncovered) for row in one.later]
    return log_batches.Moment(
        at=one.at,
        previous_at=one.previous_at,
        next_at=one.next_at,
        log_start_offset=directory.log_start_offset,
        uncovered=uncovered(directory),
        later=tuple(later),
        # rows in known bytes of the log aren't among those that were read
        kept=tuple(_held(one)) if _has_deleted(one) else (),
    )
