"""Captures removed from bronze, as if they had never been ingested.

The order of the writes makes it possible to run the work again after a kill. Records are removed
while log_batches still shows to which captures they belong. bronze.captures comes last, because it
has the list of captures to remove. Each step may be repeated. The caller holds the lake's lock, and
has noted in pipelines.lake.forgetting that the work has begun.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, StructField, StructType
from pyspark.storagelevel import StorageLevel

from pipelines.bronze.batch_spans import FOLDED_COLUMNS
from pipelines.bronze.remaining import (
    Moments,
    ReplicaCapture,
    Row,
    by_replica,
    file_in,
    first_ingested,
    moment_of,
    remaining_batch,
    remaining_groups,
    remaining_snapshot,
)
from pipelines.bronze.snapshot_records import CHANGED_COLUMNS
from pipelines.delta import Lake, merge, overwrite, read, remove
from pipelines.delta.few_rows import of_replica
from pipelines.dialects import SPARK
from pipelines.lake.forgetting import Targets
from pipelines.tables import bronze
from pipelines.tables.contract import Contract
from pipelines.tables.keys import BATCH_KEYS, SNAPSHOT_KEYS, replica_of, snapshot_key
from replica.format.damage import DamageKind
from replica.format.file_names import FileKind, classify

_OF_A_CAPTURE = (bronze.FINDINGS, bronze.REPLICA_STATE)
_BATCH_CHANGES = (*FOLDED_COLUMNS, "file")


def forget(
    spark: SparkSession, lake: Lake, targets: Targets, progress: Callable[[str], None]
) -> dict[str, int]:
    """Remove the captures. Gives the number of removed rows by table. progress: is called with the
    table's name before each step."""
    captures = read(spark, lake, bronze.CAPTURES).toArrow().to_pylist()
    forgotten = {
        index
        for index, row in enumerate(captures)
        if targets.has(row["capture_id"], row["capture_group"], row["cluster_id"])
    }
    remaining = remaining_groups(captures, forgotten)
    if len(remaining) == len(captures):
        return {}
    return _Forgetting(spark, lake, captures, remaining).run(progress)


@dataclass(frozen=True)
class _Forgetting:
    """The steps of the removal."""

    spark: SparkSession
    lake: Lake
    captures: list[Row]
    """Rows of bronze.captures."""
    remaining: Mapping[int, str]
    """The id of the group of each capture that stays, by the index of its row in `captures`."""

    def run(self, progress: Callable[[str], None]) -> dict[str, int]:
        """Does all steps of the removal, in their order. Gives the number of removed rows by table.
        progress: is called with the table's name before each step."""
        counts: dict[str, int] = {}
        batches = self._remaining_batches().persist(StorageLevel.MEMORY_AND_DISK)
        try:
            steps: dict[Contract, Callable[[], int]] = {
                bronze.LOG_RECORDS: lambda: self._records(batches),
                bronze.SNAPSHOT_RECORDS: self._snapshot_records,
                bronze.SNAPSHOTS: self._snapshots,
                bronze.DAMAGE: self._damage,
                bronze.LOG_BATCHES: lambda: self._batches(batches),
                **{one: partial(self._of_captures, one) for one in _OF_A_CAPTURE},
                bronze.CAPTURES: self._captures,
            }
            for contract, step in steps.items():
                progress(contract.name)
                counts[contract.name] = step()
        finally:
            batches.unpersist()
        return counts

    @cached_property
    def moments(self) -> Moments:
        """The captures of the replicas that lose a capture, in the order of their time."""
        found = by_replica(
            (replica_of(row), moment_of(row, is_kept=index in self.remaining))
            for index, row in enumerate(self.captures)
        )
        return {
            replica: moments
            for replica, moments in found.items()
            if not all(moment.is_kept for moment in moments)
        }

    @property
    def _concerned(self) -> Column:
        """Condition for the rows of the replicas that lose a capture. Its literals let Delta skip
        files."""
        return reduce(or_, (F.expr(of_replica(replica, SPARK)) for replica in self.moments))

    def _remaining_batches(self) -> DataFrame:
        """The rows of LOG_BATCHES that change, with their new values; `is_gone` marks rows to
        delete."""
        rows = read(self.spark, self.lake, bronze.LOG_BATCHES).where(self._concerned)
        gone = StructField("is_gone", BooleanType(), nullable=False)
        schema = StructType([*bronze.LOG_BATCHES.schema.fields, gone])
        arrow = to_arrow_schema(schema, timezone="UTC")
        change = partial(_changed_batches, moments=self.moments, schema=arrow)
        return rows.mapInArrow(change, schema)

    def _update(self, contract: Contract, rows: DataFrame, columns: Sequence[str]) -> None:
        merge(self.spark, self.lake, contract, rows, update=columns, insert=False)

    def _records(self, batches: DataFrame) -> int:
        gone = batches.where("is_gone OR NOT crc_valid").select(*BATCH_KEYS)
        return remove(self.spark, self.lake, bronze.LOG_RECORDS, gone)

    def _batches(self, batches: DataFrame) -> int:
        self._update(bronze.LOG_BATCHES, batches.where("NOT is_gone"), _BATCH_CHANGES)
        gone = batches.where("is_gone").select(*BATCH_KEYS)
        return remove(self.spark, self.lake, bronze.LOG_BATCHES, gone)

    @cached_property
    def _snapshot_rows(self) -> list[tuple[Row, Row | None]]:
        """The snapshots of the replicas concerned, with their present and their new values."""
        rows = read(self.spark, self.lake, bronze.SNAPSHOTS).where(self._concerned)
        return [
            (row, remaining_snapshot(row, self.moments[replica_of(row)]))
            for row in rows.toArrow().to_pylist()
        ]

    @property
    def _snapshots_gone(self) -> DataFrame:
        keys = [snapshot_key(row) for row, after in self._snapshot_rows if after is None]
        fields = [field for field in bronze.SNAPSHOTS.schema if field.name in SNAPSHOT_KEYS]
        return self.spark.createDataFrame(keys, StructType(fields))

    def _snapshot_records(self) -> int:
        return remove(self.spark, self.lake, bronze.SNAPSHOT_RECORDS, self._snapshots_gone)

    def _snapshots(self) -> int:
        changed = [after for row, after in self._snapshot_rows if after not in (None, row)]
        if changed:
            rows = self.spark.createDataFrame(changed, bronze.SNAPSHOTS.schema)
            self._update(bronze.SNAPSHOTS, rows, CHANGED_COLUMNS)
        return remove(self.spark, self.lake, bronze.SNAPSHOTS, self._snapshots_gone)

    def _damage(self) -> int:
        """Removes the rows about damage inside of records whose capture is removed. Where another
        capture has the same batch, it gets the row. Gives the number of removed rows."""
        damage = read(self.spark, self.lake, bronze.DAMAGE)
        gone = [row.capture_id for row in self._captures_gone.collect()]
        told = damage.where(F.col("kind") == DamageKind.RECORD.value).where(
            F.col("capture_id").isin(gone)
        )
        rows = told.toArrow().to_pylist()
        if rows:
            batches = read(self.spark, self.lake, bronze.LOG_BATCHES).where(self._concerned)
            moved = moved_damage(rows, batches, self.moments)
            if moved:
                source = self.spark.createDataFrame(moved, bronze.DAMAGE.schema)
                merge(self.spark, self.lake, bronze.DAMAGE, source)
        return self._of_captures(bronze.DAMAGE)

    @property
    def _captures_gone(self) -> DataFrame:
        """capture_id of the captures that no group has any more."""
        kept = {self.captures[index]["capture_id"] for index in self.remaining}
        ids = {row["capture_id"] for row in self.captures} - kept
        return self.spark.createDataFrame([(one,) for one in sorted(ids)], "capture_id string")

    def _of_captures(self, contract: Contract) -> int:
        return remove(self.spark, self.lake, contract, self._captures_gone)

    def _captures(self) -> int:
        """Removes the captures in one commit, because only bronze.captures has the list of captures
        to remove. Gives the number of removed rows."""
        names = "capture_group string, capture_id string, ingest_seq long, remaining_group string"
        staying = [
            (row["capture_group"], row["capture_id"], row["ingest_seq"], self.remaining[index])
            for index, row in enumerate(self.captures)
            if index in self.remaining
        ]
        keys = ["capture_group", "capture_id", "ingest_seq"]
        kept = F.broadcast(self.spark.createDataFrame(staying, names))
        rows = read(self.spark, self.lake, bronze.CAPTURES).join(kept, on=keys, how="inner")
        rows = rows.withColumn("capture_group", F.col("remaining_group"))
        overwrite(self.lake, bronze.CAPTURES, rows)
        return len(self.captures) - len(self.remaining)


def _changed_batches(
    batches: Iterable[pa.RecordBatch], moments: Moments, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Runs in a task: the rows of bronze.log_batches that change, with their new values, and those
    to delete, with `is_gone` true."""
    for batch in batches:
        changed = []
        for row in batch.to_pylist():
            after = remaining_batch(row, moments[replica_of(row)])
            if after is None:
                changed.append({**row, "is_gone": True})
            elif after != row:
                changed.append({**after, "is_gone": False})
        yield pa.RecordBatch.from_pylist(changed, schema=schema)


def moved_damage(damage: Sequence[Row], batches: DataFrame, moments: Moments) -> list[Row]:
    """The rows of bronze.damage that the remaining captures would have reported.

    An ingest reports damage inside of records once, for the first capture with the batch: it
    doesn't decode the batch again for later captures. damage: the rows about records of the
    forgotten captures. batches: rows of bronze.log_batches.
    """
    positions = sorted({row["position"] for row in damage})
    inside = F.exists(
        F.array(*(F.lit(position) for position in positions)),
        lambda at: (F.col("position") <= at) & (at < F.col("position") + F.col("size_bytes")),
    )
    found = batches.where(inside).toArrow().to_pylist()
    moved = []
    for row in damage:
        if classify(os.path.basename(row["file"])).kind is FileKind.SEGMENT:
            moved += list(_in_other_segments(row, found, moments))
        else:
            moved += list(_in_other_snapshots(row, moments))
    return moved


def _in_other_segments(damage: Row, batches: Sequence[Row], moments: Moments) -> Iterator[Row]:
    for batch in batches:
        replica = replica_of(batch)
        end = batch["position"] + batch["size_bytes"]
        is_it = batch["position"] <= damage["position"] < end and _name(batch) == _name(damage)
        if is_it and _told_by(damage, moments[replica]):
            staying = [one for one in moments[replica] if one.is_kept]
            seen = [one for one in staying if one.has_in(batch["undamaged"])]
            if seen:
                owner = first_ingested(seen)
                yield {**damage, "capture_id": owner.capture_id, "file": file_in(batch, owner)}


def _in_other_snapshots(damage: Row, moments: Moments) -> Iterator[Row]:
    for one_replica in moments.values():
        for teller in _told_by(damage, one_replica):
            content = teller.files.get(os.path.relpath(damage["file"], teller.source))
            found = [
                (one, name)
                for one in one_replica
                for name, other in one.files.items()
                if one.is_kept and content is not None and other == content
            ]
            if found:
                owner, name = min(found, key=lambda pair: pair[0].ingest_seq)
                file = os.path.join(owner.source, name)
                yield {**damage, "capture_id": owner.capture_id, "file": file}


def _told_by(damage: Row, moments: Sequence[ReplicaCapture]) -> list[ReplicaCapture]:
    """The capture that reported the damage, as a list of one. The list is empty where that capture
    is of another replica."""
    return [one for one in moments if one.capture_id == damage["capture_id"]][:1]


def _name(row: Row) -> str:
    file: str = row["file"]
    return os.path.basename(file).removesuffix(".deleted")
