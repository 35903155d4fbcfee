"""One round of capture groups into the bronze tables.

The order of the writes is the order of recovery: what is keyed comes first and may be written
again, bronze.captures comes last and says that the round is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.storagelevel import StorageLevel

from pipelines.bronze import log_batches, small_tables
from pipelines.bronze.captured import Captured, KnownCapture, place
from pipelines.bronze.coverage import Uncovered, uncovered
from pipelines.bronze.damaged import RawBytes, unreadable
from pipelines.bronze.files import SourceReads, snapshots
from pipelines.bronze.findings import finding_rows
from pipelines.capture.looks import Group
from pipelines.delta import Lake, append, ensure_table, merge, read
from pipelines.sources import register
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from replica.format.damage import Damage
from replica.types import ReplicaId

Counts = dict[str, int]
"""Rows added or changed, by table name."""


@dataclass(frozen=True)
class Ingest:
    """Where and how to ingest. key_file: the fingerprint key; None keeps secrets."""

    spark: SparkSession
    lake: Lake
    key_file: str | None

    def create_tables(self) -> None:
        """Create what is absent."""
        register(self.spark)
        for contract in bronze.BRONZE:
            ensure_table(self.spark, self.lake, contract)

    def run_round(
        self, groups: Iterable[Group], now: datetime, progress: Callable[[str], None]
    ) -> Counts:
        """Ingest one round; groups that the lake has already are left out.

        now: captured_at of looks without a time of their own; progress: told before each step.
        """
        captured = place(groups, self._known_captures(), now)
        if not captured:
            return {}
        reads = SourceReads(self.spark, self.key_file, captured)
        records = self._new_records(reads).persist(StorageLevel.MEMORY_AND_DISK)
        snapshot_records = reads.snapshot_records().persist(StorageLevel.MEMORY_AND_DISK)
        steps: dict[str, Callable[[], Counts]] = {
            "log records": lambda: self._records(records),
            "snapshots": lambda: self._snapshots(captured),
            "snapshot records": lambda: self._snapshot_records(snapshot_records),
            "log batches": lambda: self._batches(captured, reads),
            "findings": lambda: self._findings(captured),
            "state": lambda: self._state(
                captured, [*unreadable(records), *unreadable(snapshot_records)]
            ),
        }
        counts: Counts = {}
        try:
            for what, write in steps.items():
                progress(f"{len(captured)} replicas: {what}")
                counts |= write()
        finally:
            records.unpersist()
            snapshot_records.unpersist()
        return counts

    def add_damage(self, damages: Sequence[Damage]) -> Counts:
        """Damages that belong to no replica; ones the lake has already are left out."""
        rows = [small_tables.damage_row(None, damage) for damage in damages]
        return self._merge_rows(bronze.DAMAGE, rows)

    def _known_captures(self) -> list[KnownCapture]:
        """What the lake has; a row for each replica of each group."""
        columns = (
            "capture_group",
            *bronze.REPLICA_KEYS,
            "ingest_seq",
            "log_start_offset",
            "uncovered",
        )
        # as a number, because pyspark collects timestamps in the machine's own zone
        at = F.unix_micros("captured_at").alias("at")
        rows = read(self.spark, self.lake, bronze.CAPTURES).select(*columns, at).collect()
        return [
            KnownCapture(
                row.capture_group,
                ReplicaId(row.cluster_id, row.node_id, row.directory_id),
                small_tables.from_microseconds(row.at),
                row.ingest_seq,
                row.log_start_offset,
                tuple(Uncovered(gap.start, gap.end) for gap in row.uncovered),
            )
            for row in rows
        ]

    def _new_records(self, reads: SourceReads) -> DataFrame:
        """Records of the batches whose records the lake doesn't have."""
        keys = list(bronze.BATCH_KEYS)
        known = read(self.spark, self.lake, bronze.LOG_BATCHES).where("crc_valid")
        return reads.records().join(known.select(*keys), on=keys, how="left_anti")

    def _records(self, records: DataFrame) -> Counts:
        # a batch may lie in a .log.deleted file too
        rows = records.where("error IS NULL").dropDuplicates(list(bronze.LOG_RECORDS.keys))
        return self._merge_new(bronze.LOG_RECORDS, rows)

    def _snapshot_records(self, records: DataFrame) -> Counts:
        keys = list(bronze.SNAPSHOT_RECORDS.keys)
        rows = records.where("error IS NULL").dropDuplicates(keys)
        return self._merge_new(bronze.SNAPSHOT_RECORDS, rows)

    def _snapshots(self, captured: Sequence[Captured]) -> Counts:
        rows = {}
        for one, snapshot in snapshots(captured):
            row = small_tables.snapshot_row(one, snapshot)
            key = tuple(row[name] for name in bronze.SNAPSHOT_KEYS)
            rows.setdefault(key, row)
        if not rows:
            return {}
        source = self.spark.createDataFrame(list(rows.values()), bronze.SNAPSHOTS.schema)
        is_newer = "s.last_seen >= t.last_seen"
        latest = {
            name: f"CASE WHEN {is_newer} THEN s.{name} ELSE t.{name} END"
            for name in ("file", "state")
        }
        merged = merge(
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

    def _batches(self, captured: Sequence[Captured], reads: SourceReads) -> Counts:
        known = read(self.spark, self.lake, bronze.LOG_BATCHES)
        seen = log_batches.one_row_per_batch(reads.batches())
        moments = self.spark.createDataFrame(
            [_moment(one) for one in captured], log_batches.MOMENT_SCHEMA
        )
        merged = merge(
            self.spark,
            self.lake,
            bronze.LOG_BATCHES,
            log_batches.fold(known, seen, moments),
            update_when=log_batches.changed(),
            update_set={name: f"s.{name}" for name in log_batches.FOLDED_COLUMNS},
        )
        return {bronze.LOG_BATCHES.name: merged.inserted}

    def _findings(self, captured: Sequence[Captured]) -> Counts:
        """Of captures that are new: an unchanged directory in a new group was judged before."""
        seen = read(self.spark, self.lake, bronze.CAPTURES).select("capture_id").distinct()
        known = {row.capture_id for row in seen.collect()}
        looks = {one.look.capture_id: one.look for one in captured}
        new = [look for capture_id, look in looks.items() if capture_id not in known]
        return self._merge_rows(bronze.FINDINGS, finding_rows(self.spark, new))

    def _state(self, captured: Sequence[Captured], damage: list[small_tables.Row]) -> Counts:
        raw = RawBytes(self.key_file)
        for one in captured:
            damage.extend(small_tables.damage_rows(one, raw.hide))
        counts = self._merge_rows(bronze.DAMAGE, damage)
        by_capture = {one.look.capture_id: one for one in captured}
        states = [small_tables.replica_state_row(one) for one in by_capture.values()]
        counts |= self._merge_rows(bronze.REPLICA_STATE, states)
        rows = [small_tables.capture_row(one) for one in captured]
        source = self.spark.createDataFrame(rows, bronze.CAPTURES.schema)
        group = f"kraftlake-ingest-{captured[0].group_id}"
        append(self.lake, bronze.CAPTURES, source, transaction=(group, 1))
        return counts | {bronze.CAPTURES.name: len(rows)}

    def _merge_rows(self, contract: Contract, rows: Sequence[small_tables.Row]) -> Counts:
        if not rows:
            return {}
        unique = {tuple(row[key] for key in contract.keys): row for row in rows}
        source = self.spark.createDataFrame(list(unique.values()), contract.schema)
        return self._merge_new(contract, source)

    def _merge_new(self, contract: Contract, source: DataFrame) -> Counts:
        merged = merge(self.spark, self.lake, contract, source)
        return {contract.name: merged.inserted}


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
