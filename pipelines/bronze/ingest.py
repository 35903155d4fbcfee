"""One round of capture groups into the bronze tables.

The order of the writes is the order of recovery: what is keyed, or known by what the table holds,
comes first and may be written again; bronze.captures comes last and says that the round is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from pipelines import delta
from pipelines.bronze import log_batches, small_tables
from pipelines.bronze.captured import Captured, KnownCapture, place
from pipelines.bronze.coverage import Uncovered, uncovered
from pipelines.bronze.damaged import RawBytes, unreadable
from pipelines.bronze.damaged_batches import known_whole
from pipelines.bronze.files import SourceReads, snapshots
from pipelines.bronze.findings import judge_looks
from pipelines.bronze.new_records import (
    APPLICATION,
    new_ranges,
    of_replica,
    unreadable_of,
    write_new_records,
)
from pipelines.capture.known import replica_of
from pipelines.capture.looks import Group
from pipelines.delta import Lake, ensure_table, exists
from pipelines.redaction import Redaction, redactor_of
from pipelines.sources import register
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.errors import UsageError
from replica.format.damage import Damage
from replica.format.directory import SegmentFile, SnapshotFile
from replica.format.known_file import KnownFile

Counts = dict[str, int]
"""Rows added or changed, by table name."""


@dataclass(frozen=True)
class Ingest:
    """Where and how to ingest. redaction None keeps secrets."""

    spark: SparkSession
    lake: Lake
    redaction: Redaction | None

    def create_tables(self) -> None:
        """Create what is absent.

        UsageError: a table is gone while bronze.captures, the last to be made, says what it held.
        """
        register(self.spark)
        absent = [c.name for c in bronze.BRONZE if not exists(self.spark, self.lake, c)]
        if absent and bronze.CAPTURES.name not in absent:
            raise UsageError(
                f"{self.lake.root} has no {', '.join(absent)}, though it has bronze.captures: "
                "restore what is missing, or ingest the captures into a new lake"
            )
        for contract in reversed(bronze.BRONZE):
            ensure_table(self.lake, contract)

    def run_round(
        self, groups: Iterable[Group], now: datetime, progress: Callable[[str], None]
    ) -> Counts:
        """Ingest one round; groups that the lake has already are left out.

        now: captured_at of looks without a time of their own; progress: told before each step.
        """
        captured = place(groups, self._known_captures(), now)
        if not captured:
            return {}
        for one in captured:
            if one.clock_is_behind:
                shown, at = one.look.location.shown, one.at.isoformat(timespec="seconds")
                progress(f"{shown}: the clock is behind its newest capture: placed at {at}")
        return _Round(self.spark, self.lake, self.redaction, captured).run(progress)

    def add_damage(self, damages: Sequence[Damage]) -> Counts:
        """Damages that belong to no replica; ones the lake has already are left out."""
        rows = [small_tables.damage_row(None, damage) for damage in damages]
        return add_missing(self.lake, bronze.DAMAGE, rows)

    def _known_captures(self) -> list[KnownCapture]:
        """What the lake has; a row for each replica of each group."""
        columns = (
            *("capture_group", *bronze.REPLICA_KEYS, "captured_at", "ingest_seq"),
            *("log_start_offset", "uncovered"),
        )
        return [
            KnownCapture(
                row["capture_group"],
                replica_of(row),
                row["captured_at"],
                row["ingest_seq"],
                row["log_start_offset"],
                tuple(Uncovered(gap["start"], gap["end"]) for gap in row["uncovered"]),
            )
            for row in delta.values(self.lake, bronze.CAPTURES, columns)
        ]


@dataclass(frozen=True)
class _Round:
    """The steps of one round. known: of its captures' files, by capture and path."""

    spark: SparkSession
    lake: Lake
    redaction: Redaction | None
    captured: Sequence[Captured]
    known: dict[str, Mapping[str, KnownFile]] = field(default_factory=dict)

    def run(self, progress: Callable[[str], None]) -> Counts:
        """All of them, each of which may be repeated by a later round."""
        steps: dict[str, Callable[[], Counts]] = {
            "damage": self._damage,
            "log records": self._records,
            "snapshot records": self._snapshot_records,
            "snapshots": self._snapshots,
            "log batches": self._batches,
            "findings": self._findings,
            "state": self._state,
            "captures": self._captures,
        }
        counts: Counts = {}
        for what, write in steps.items():
            progress(f"{len(self.captured)} replicas: {what}")
            for table, rows in write().items():
                counts[table] = counts.get(table, 0) + rows
        return counts

    def _damage(self) -> Counts:
        """Before the records: which of them don't decode is asked of those the lake lacks only."""
        redactor = redactor_of(self.redaction)
        parts = new_ranges(self.spark, self.lake, self.captured, redactor)
        capture_of = {
            one.look.shown_file(segment.file): one.look.capture_id
            for one in self.captured
            for segment in (
                *one.look.directory.segments,
                *one.look.directory.deleted_segments,
            )
        }
        rows = unreadable(unreadable_of(self.spark, parts, redactor), capture_of)
        raw = RawBytes(redactor)
        for one in self.captured:
            rows.extend(small_tables.damage_rows(one, raw.hide))
        return add_missing(self.lake, bronze.DAMAGE, rows)

    def _records(self) -> Counts:
        redactor = redactor_of(self.redaction)
        rows = write_new_records(self.spark, self.lake, self.captured, redactor)
        return {bronze.LOG_RECORDS.name: rows}

    def _snapshot_records(self) -> Counts:
        """Of snapshots that bronze.snapshots, which is written after this, has not."""
        new = self._new_snapshots()
        if not new:
            return {}
        reads = SourceReads(self.spark, self.redaction, self.captured)
        records = reads.snapshot_records(new).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            capture_of = {
                one.look.shown_file(found.file): one.look.capture_id for one, found in new
            }
            bad = records.where("error IS NOT NULL").select("file", "position", "error", "value")
            damage = unreadable([row.asDict() for row in bad.collect()], capture_of)
            counts = add_missing(self.lake, bronze.DAMAGE, damage)
            keys = list(bronze.SNAPSHOT_RECORDS.keys)
            rows = records.where("error IS NULL").dropDuplicates(keys)
            held = delta.size(self.lake, bronze.SNAPSHOT_RECORDS)
            if not held.row_count:
                contract, seen = bronze.SNAPSHOT_RECORDS, held.version
                added = delta.add(self.lake, contract, rows, APPLICATION, seen).rows
            else:
                added = delta.merge(self.spark, self.lake, bronze.SNAPSHOT_RECORDS, rows).inserted
            return counts | {bronze.SNAPSHOT_RECORDS.name: added}
        finally:
            records.unpersist()

    def _new_snapshots(self) -> list[tuple[Captured, SnapshotFile]]:
        unknown: dict[tuple[object, ...], tuple[Captured, SnapshotFile]] = {}
        for one, snapshot in snapshots(self.captured):
            if not snapshot.scan.sparse_until:
                unknown.setdefault(_snapshot_key(one, snapshot), (one, snapshot))
        if not unknown:
            return []
        for row in delta.values(self.lake, bronze.SNAPSHOTS, bronze.SNAPSHOT_KEYS):
            unknown.pop(tuple(row.values()), None)
        return list(unknown.values())

    def _snapshots(self) -> Counts:
        rows: dict[tuple[object, ...], Mapping[str, object]] = {}
        for one, snapshot in snapshots(self.captured):
            rows.setdefault(_snapshot_key(one, snapshot), small_tables.snapshot_row(one, snapshot))
        if not rows:
            return {}
        seen = delta.size(self.lake, bronze.SNAPSHOTS).version
        known = delta.values(self.lake, bronze.SNAPSHOTS, bronze.SNAPSHOT_KEYS)
        if not rows.keys() & {tuple(row.values()) for row in known}:
            added = delta.add_values(
                self.lake, bronze.SNAPSHOTS, list(rows.values()), APPLICATION, seen
            )
            return {bronze.SNAPSHOTS.name: added.rows}
        source = self.spark.createDataFrame(list(rows.values()), bronze.SNAPSHOTS.schema)
        is_newer = "s.last_seen >= t.last_seen"
        latest = {
            name: f"CASE WHEN {is_newer} THEN s.{name} ELSE t.{name} END"
            for name in ("file", "state")
        }
        merged = delta.merge(
            self.spark,
            self.lake,
            bronze.SNAPSHOTS,
            source,
            update_set={
                **latest,
                "first_seen": "least(t.first_seen, s.first_seen)",
                "last_seen": "greatest(t.last_seen, s.last_seen)",
                "captures": "array_union(t.captures, s.captures)",
            },
        )
        return {bronze.SNAPSHOTS.name: merged.inserted}

    def _batches(self) -> Counts:
        held = delta.read_newest(self.spark, self.lake, bronze.LOG_BATCHES)
        table = held.rows
        touched = reduce(Column.__or__, (_touched(one) for one in self.captured))
        reads = SourceReads(self.spark, self.redaction, self.captured)
        moments = self.spark.createDataFrame(
            [_moment(one) for one in self.captured], log_batches.MOMENT_SCHEMA
        )
        kept = [those for one in self.captured if (those := _kept(one)) is not None]
        redactor = redactor_of(self.redaction)
        batches = known_whole(self.spark, reads.batches(), table, self.captured, redactor)
        seen = log_batches.one_row_per_batch(
            batches, table.where(reduce(Column.__or__, kept)) if kept else None
        )
        rows = log_batches.fold(table.where(touched), seen, moments)
        if not held.row_count:
            added = delta.add(self.lake, bronze.LOG_BATCHES, rows, APPLICATION, held.version)
            return {bronze.LOG_BATCHES.name: added.rows}
        rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            lowest = rows.agg(F.min("base_offset")).collect()[0][0]
            if lowest is None:
                return {}
            merged = delta.merge(
                self.spark,
                self.lake,
                bronze.LOG_BATCHES,
                rows,
                # a literal, by which Delta leaves out files with older batches
                where=f"t.base_offset >= {lowest}",
                update_when=log_batches.changed(),
                update_set={name: f"s.{name}" for name in log_batches.FOLDED_COLUMNS},
            )
        finally:
            rows.unpersist()
        return {bronze.LOG_BATCHES.name: merged.inserted}

    def _findings(self) -> Counts:
        """Of captures that are new: an unchanged directory in a new group was judged before."""
        seen = delta.values(self.lake, bronze.CAPTURES, ("capture_id",))
        known = {row["capture_id"] for row in seen}
        looks = {one.look.capture_id: one.look for one in self.captured}
        new = [look for capture_id, look in looks.items() if capture_id not in known]
        judged = judge_looks(self.spark, new)
        self.known.update({one.capture_id: one.known for one in judged})
        for look in looks.values():
            self.known.setdefault(look.capture_id, look.known())
        rows = [row for one in judged for row in one.rows]
        return add_missing(self.lake, bronze.FINDINGS, rows)

    def _state(self) -> Counts:
        by_capture = {one.look.capture_id: one for one in self.captured}
        states = [small_tables.replica_state_row(one) for one in by_capture.values()]
        return add_missing(self.lake, bronze.REPLICA_STATE, states)

    def _captures(self) -> Counts:
        rows = [
            small_tables.capture_row(one, self.known[one.look.capture_id]) for one in self.captured
        ]
        # one application for each group: a group that was forgotten may come again
        group = f"{APPLICATION}-{self.captured[0].group_id}"
        delta.add_values(self.lake, bronze.CAPTURES, rows, group)
        return {bronze.CAPTURES.name: len(rows)}


def add_missing(lake: Lake, contract: Contract, rows: Sequence[small_tables.Row]) -> Counts:
    """Add the rows whose keys the table, of rows of captures, doesn't have."""
    if not rows:
        return {}
    unique = {tuple(row[key] for key in contract.keys): row for row in rows}
    ids = ", ".join({delta.text(row["capture_id"]) for row in rows if row["capture_id"]})
    seen = delta.size(lake, contract).version
    of_captures = f"capture_id IS NULL OR capture_id IN ({ids or 'NULL'})"
    for known in delta.values(lake, contract, contract.keys, of_captures):
        unique.pop(tuple(known.values()), None)
    added = delta.add_values(lake, contract, [*unique.values()], APPLICATION, seen)
    return {contract.name: added.rows}


def _snapshot_key(one: Captured, snapshot: SnapshotFile) -> tuple[object, ...]:
    row = small_tables.snapshot_row(one, snapshot)
    return tuple(row[name] for name in bronze.SNAPSHOT_KEYS)


def _touched(one: Captured) -> Column:
    """Which rows of LOG_BATCHES a capture may change.

    What the newest capture held of bytes that were known, this one holds, too, so those rows stay:
    they are those from the first offset of the known bytes on. Rows that are closed change only
    where the batch comes again, among the new ones. What a .log.deleted file holds may be any row.
    """
    replica, held = of_replica(one.look.replica), _held(one)
    if held is None or _has_deleted(one):
        return replica
    new = [
        batch.header.base_offset
        for segment in one.look.directory.segments
        for batch in segment.scan.new_batches
    ]
    is_open = F.col("last_seen").isNull()
    may_return = F.col("base_offset") >= min(new) if new else F.lit(False)
    return replica & ~held & (is_open | may_return)


def _kept(one: Captured) -> Column | None:
    """Which of the touched rows are of batches in known bytes of the log, so that they aren't among
    those that were read; None where there can't be any."""
    held = _held(one)
    if held is None or not _has_deleted(one):
        return None
    was_in_log = F.exists("in_log", lambda span: span["to"].isNull())
    return of_replica(one.look.replica) & held & was_in_log


def _held(one: Captured) -> Column | None:
    """Whether base_offset is in bytes of the log that were known; None where none were."""
    known = [segment for segment in one.look.directory.segments if segment.scan.sparse_until]
    if one.look.base is None or not known:
        return None
    ranges = (F.col("base_offset").between(start, end - 1) for start, end in _joined(known))
    return reduce(Column.__or__, ranges)


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


def _moment(one: Captured) -> tuple[object, ...]:
    """A row of log_batches.MOMENT_SCHEMA, its times as us since the epoch."""
    times = (one.at, one.previous_at, one.next_at)
    directory = one.look.directory
    return (
        *one.replica_columns.values(),
        *(small_tables.to_microseconds(time) for time in times),
        directory.log_start_offset,
        _pairs(uncovered(directory)),
        [(row.at, row.log_start_offset, _pairs(row.uncovered)) for row in one.later],
    )


def _pairs(gaps: Iterable[Uncovered]) -> list[tuple[int, int | None]]:
    return [(gap.start, gap.end) for gap in gaps]
