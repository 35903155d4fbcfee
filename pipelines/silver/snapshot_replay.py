"""Every snapshot beside the log's replay, in parts by key, on the workers.

The log is a cluster's agreed branch. A run of it without a hole is replayed once, from offset 0 or
from the oldest snapshot in it, and at the end offset of each snapshot on the branch what both say
is compared: with the command's own code, replica.metadata.image.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.silver.stored_records import bucket_of, spread, stored_record
from replica.metadata.image import (
    Difference,
    Entity,
    Image,
    PartitionKey,
    Replay,
    ReplayedRecord,
    differences,
    orphan_topic_configs,
    owner_of,
)

SAMPLE = 20
"""Differences of one snapshot that are kept with their values, in each part."""
_PLAN = "REPLAY_PLAN"
_ROWS_AT_ONCE = 8192

_DIFFERENCE = pa.struct(
    [(name, pa.string()) for name in ("entity", "key", "in_snapshot", "in_log")]
)
COMPARED = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("content_sha256", pa.string()),
        ("base_offset", pa.int64()),
        ("different", pa.int64()),
        ("orphans", pa.int64()),
        ("sample", pa.list_(_DIFFERENCE)),
    ]
)
"""One row for each snapshot that a replay reaches. base_offset: where the replay began, 0 or the
end offset of an older snapshot. different: entities that differ from the log's, orphans not counted
among them; orphans: see image.orphan_topic_configs. sample: the first of the different ones."""


class _Snapshot(NamedTuple):
    """branch_epoch: the branch's epoch at end_offset - 1, None where the branch lacks it."""

    end_offset: int
    epoch: int
    content_sha256: str
    branch_epoch: int | None


@dataclass(frozen=True)
class _Plan:
    """runs: (first offset, end offset) of the branch's parts without a hole, ascending."""

    runs: tuple[tuple[int, int], ...]
    snapshots: tuple[_Snapshot, ...]


def snapshot_replay(
    branch: DataFrame, snapshots: DataFrame, snapshot_records: DataFrame, buckets: int
) -> DataFrame:
    """COMPARED. branch: from branch_records; the others bronze's; buckets: parts of a replay.

    Snapshots off the branch, behind a hole of it or below its start have no row.
    """
    whole = snapshots.where("is_whole AND end_offset > 0")
    contents = whole.select("cluster_id", "end_offset", "epoch", "content_sha256").distinct()
    log = branch.withColumn("content_sha256", F.lit(""))
    records = snapshot_records.join(
        F.broadcast(whole.select("cluster_id", "content_sha256").distinct()),
        on=["cluster_id", "content_sha256"],
        how="left_semi",
    ).dropDuplicates(["cluster_id", "content_sha256", "index"])
    records = records.withColumnsRenamed({"index": "offset", "epoch": "leader_epoch"})
    rows = spread(log, buckets).unionByName(spread(records, buckets))
    rows = rows.unionByName(_plans(branch, contents, buckets), allowMissingColumns=True)
    number = buckets

    def compare(part: pa.Table) -> pa.Table:
        return pa.Table.from_pylist(list(_compared(part, number)), schema=COMPARED)

    parts = rows.groupBy("cluster_id", "bucket").applyInArrow(
        compare, from_arrow_schema(COMPARED, prefer_timestamp_ntz=False)
    )
    return parts.groupBy("cluster_id", "content_sha256").agg(
        F.min("base_offset").alias("base_offset"),
        *(F.sum(name).alias(name) for name in ("different", "orphans")),
        F.slice(F.array_sort(F.flatten(F.collect_list("sample"))), 1, SAMPLE).alias("sample"),
    )


def _plans(branch: DataFrame, contents: DataFrame, buckets: int) -> DataFrame:
    """A row of SPREAD for each part of each cluster, its payload the _Plan as JSON."""
    by_offset = Window.partitionBy("cluster_id").orderBy("offset")
    starts_run = F.coalesce(F.col("offset") != F.lag("offset").over(by_offset) + 1, F.lit(True))
    numbered = branch.select("cluster_id", "offset", "leader_epoch", starts_run.alias("starts"))
    numbered = numbered.withColumn("run", F.sum(F.col("starts").cast("int")).over(by_offset))
    runs = numbered.groupBy("cluster_id", "run").agg(
        F.min("offset").alias("start"), (F.max("offset") + 1).alias("end")
    )
    runs = runs.groupBy("cluster_id").agg(F.collect_list(F.array("start", "end")).alias("runs"))
    last = branch.select(
        "cluster_id",
        (F.col("offset") + 1).alias("end_offset"),
        F.col("leader_epoch").alias("branch_epoch"),
    )
    placed = contents.join(last, on=["cluster_id", "end_offset"], how="left")
    found = F.struct("end_offset", "epoch", "content_sha256", "branch_epoch")
    listed = placed.groupBy("cluster_id").agg(F.collect_list(found).alias("snapshots"))
    plan = listed.join(runs, on="cluster_id", how="inner")
    empty = {"ignoreNullFields": "false"}
    return plan.select(
        "cluster_id",
        F.explode(F.sequence(F.lit(0), F.lit(buckets - 1))).alias("bucket"),
        F.lit("").alias("content_sha256"),
        F.lit(False).alias("is_control"),
        F.lit(_PLAN).alias("record_type"),
        F.to_json(F.struct("runs", "snapshots"), empty).alias("payload"),
    )


def _compared(part: pa.Table, buckets: int) -> Iterator[dict[str, Any]]:
    """Rows of COMPARED for one bucket of one cluster."""
    is_plan = pc.equal(part["record_type"], _PLAN)
    plans = part.filter(is_plan)
    if plans.num_rows == 0:  # no snapshots
        return
    stored = _Stored(part.filter(pc.invert(is_plan)).sort_by("offset"))
    bucket = plans["bucket"][0].as_py()
    for snapshot, base_offset, replayed in _replayed(_plan_of(plans["payload"][0].as_py()), stored):
        yield {
            "cluster_id": plans["cluster_id"][0].as_py(),
            "content_sha256": snapshot.content_sha256,
            "base_offset": base_offset,
            **_judged(stored.image_of(snapshot), replayed, bucket, buckets),
        }


def _plan_of(text: str) -> _Plan:
    plan = json.loads(text)
    snapshots = (_Snapshot(*(one[name] for name in _Snapshot._fields)) for one in plan["snapshots"])
    return _Plan(
        tuple(sorted((start, end) for start, end in plan["runs"])), tuple(sorted(snapshots))
    )


class _Stored:
    """The rows of a bucket, turned into records only when they are asked for."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def records(self, content_sha256: str = "") -> Iterator[tuple[int, ReplayedRecord]]:
        """(offset, record) of the log, or (index, record) of a snapshot, ascending."""
        mine = self._rows.filter(pc.equal(self._rows["content_sha256"], content_sha256))
        for table in mine.to_batches(max_chunksize=_ROWS_AT_ONCE):
            for row in table.to_pylist():
                yield row["offset"], stored_record(row)

    def image_of(self, snapshot: _Snapshot) -> Image:
        replay = Replay()
        for index, record in self.records(snapshot.content_sha256):
            replay.apply(index, record)
        return replay.image()


def _replayed(plan: _Plan, stored: _Stored) -> Iterator[tuple[_Snapshot, int, Image]]:
    """(snapshot, where the replay began, the log's image at its end offset)."""
    log = _Lookahead(stored.records())
    for start, end in plan.runs:
        within = [one for one in plan.snapshots if start <= one.end_offset <= end]
        base_offset, replay = 0, Replay()
        if start > 0:
            base = next((one for one in within if one.branch_epoch in (None, one.epoch)), None)
            if base is None:
                continue
            base_offset, replay = base.end_offset, Replay(stored.image_of(base))
        for _ in log.below(base_offset):
            pass  # the base holds them
        for snapshot in within:
            if snapshot.end_offset > base_offset and snapshot.branch_epoch == snapshot.epoch:
                for offset, record in log.below(snapshot.end_offset):
                    replay.apply(offset, record)
                yield snapshot, base_offset, replay.image()


class _Lookahead:
    """Records taken up to an offset, and the rest later."""

    def __init__(self, records: Iterator[tuple[int, ReplayedRecord]]) -> None:
        self._records = records
        self._next = next(records, None)

    def below(self, end_offset: int) -> Iterator[tuple[int, ReplayedRecord]]:
        while self._next is not None and self._next[0] < end_offset:
            yield self._next
            self._next = next(self._records, None)


def _judged(held: Image, replayed: Image, bucket: int, buckets: int) -> dict[str, Any]:
    """What this bucket's keys say; other keys are judged in theirs."""
    mine = [
        difference
        for difference in differences(held, replayed)
        if bucket_of(_owner(difference), buckets) == bucket
    ]
    orphans = set(orphan_topic_configs(held, replayed))
    real = [difference for difference in mine if difference not in orphans]
    return {
        "different": len(real),
        "orphans": len(mine) - len(real),
        "sample": [_row(difference) for difference in real[:SAMPLE]],
    }


def _owner(difference: Difference) -> PartitionKey:
    return owner_of(Entity(difference.kind, difference.key, "", 0))


def _row(difference: Difference) -> dict[str, str | None]:
    values = (difference.kind, difference.key, difference.value_a, difference.value_b)
    return dict(zip((field.name for field in _DIFFERENCE), values, strict=True))
