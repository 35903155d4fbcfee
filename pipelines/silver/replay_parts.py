"""A cluster's log replayed in parts by key: what each part is given, and how it walks the log.

The log is the agreed branch. Its runs without a hole are replayed apart: from offset 0, or from the
oldest snapshot within a run that has lost its head.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.silver.stored_records import bucket_of, is_unknown, spread, stored_record
from replica.metadata.image import (
    Entity,
    Image,
    Refusal,
    Replay,
    ReplayedRecord,
    key_of,
    owner_of,
)

_PLAN = "REPLAY_PLAN"
_ROWS_AT_ONCE = 8192
IN_SNAPSHOT = -1
"""The offset of an entity that comes from the snapshot with which a replay began."""


class BranchSnapshot(NamedTuple):
    """A whole snapshot. branch_epoch: the branch's epoch at end_offset - 1, None where the branch
    lacks it. is_base: whether a replay may begin with it."""

    end_offset: int
    epoch: int
    content_sha256: str
    branch_epoch: int | None
    is_base: bool

    @property
    def is_on_branch(self) -> bool:
        return self.branch_epoch == self.epoch


@dataclass(frozen=True)
class Part:
    """One part of a cluster's replay. runs: (first offset, end offset), ascending; snapshots: all
    of the cluster's, by end offset."""

    cluster_id: str
    bucket: int
    buckets: int
    runs: tuple[tuple[int, int], ...]
    snapshots: tuple[BranchSnapshot, ...]
    rows: pa.Table

    def owns(self, kind: str, key: str) -> bool:
        """Whether this part tells the truth about the entity."""
        return bucket_of(owner_of(Entity(kind, key, "", 0)), self.buckets) == self.bucket

    def owns_record(self, record: ReplayedRecord) -> bool:
        """Whether this part is the one to tell that the record can't be applied."""
        return bucket_of(key_of(record), self.buckets) == self.bucket

    def content_of(self, snapshot: BranchSnapshot) -> tuple[Image, int]:
        """What the snapshot says of this part's keys; how many of its records say nothing."""
        replay, refused = Replay(), 0
        for _, record in self.records(snapshot.content_sha256):
            refusal = replay.apply(IN_SNAPSHOT, record)
            refused += refusal is not None and self.owns_record(record)
        return replay.image(), refused

    def records(self, content_sha256: str = "") -> Iterator[tuple[int, ReplayedRecord]]:
        """(offset, record) of the log, or (index, record) of a snapshot, ascending."""
        mine = self.rows.filter(pc.equal(self.rows["content_sha256"], content_sha256))
        for table in mine.to_batches(max_chunksize=_ROWS_AT_ONCE):
            for row in table.to_pylist():
                yield row["offset"], stored_record(row)

    def replays(self) -> Iterator[RunReplay]:
        """A replay for each run that has a beginning; each must be walked before the next."""
        log = _Lookahead(self.records())
        for start, end in self.runs:
            base_offset, image = start, Image()
            if start > 0:
                base = self._base(start, end)
                if base is None:
                    continue
                base_offset, (image, _) = base.end_offset, self.content_of(base)
            for _ in log.below(base_offset):
                pass  # the base holds them
            yield RunReplay(base_offset, end, Replay(image), log, self.owns_record)

    def _base(self, start: int, end: int) -> BranchSnapshot | None:
        bases = (one for one in self.snapshots if one.is_base)
        within = (one for one in bases if start <= one.end_offset <= end)
        return next((one for one in within if one.branch_epoch in (None, one.epoch)), None)


@dataclass
class RunReplay:
    """A run from base_offset, where its first image is, to `end`, both exclusive of what is above;
    image_at must be asked in rising order.

    Of the records walked that this part owns: first_refused, the first that can't be applied;
    refused_count, how many can't.
    """

    base_offset: int
    end: int
    _replay: Replay
    _log: _Lookahead
    _owns: Callable[[ReplayedRecord], bool]
    first_refused: Refusal | None = None
    refused_count: int = 0

    def image_at(self, end_offset: int) -> Image:
        """What the records below this offset add up to."""
        assert self.base_offset <= end_offset <= self.end
        for offset, record in self._log.below(end_offset):
            refusal = self._replay.apply(offset, record)
            if refusal is not None and self._owns(record):
                self.refused_count += 1
                self.first_refused = self.first_refused or refusal
        return self._replay.image()


class _Lookahead:
    """Records taken up to an offset, and the rest later."""

    def __init__(self, records: Iterator[tuple[int, ReplayedRecord]]) -> None:
        self._records = records
        self._next = next(records, None)

    def below(self, end_offset: int) -> Iterator[tuple[int, ReplayedRecord]]:
        while self._next is not None and self._next[0] < end_offset:
            yield self._next
            self._next = next(self._records, None)


def default_buckets(spark: SparkSession) -> int:
    """As many parts as Spark has partitions behind a shuffle."""
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def replay_in_parts(
    branch: DataFrame,
    snapshots: DataFrame,
    snapshot_records: DataFrame,
    buckets: int,
    work: Callable[[Part], Iterator[dict[str, Any]]],
    schema: pa.Schema,
    *,
    through_unknown: bool,
) -> DataFrame:
    """The rows that `work` makes of each part, in columns of `schema`.

    branch: from branch_records; the others bronze's; buckets: parts of each cluster.
    through_unknown: False makes a record that nobody here knows a hole in the log, as behind it no
    state is the whole truth, and lets no replay begin with a snapshot that holds one.
    """
    hidden = F.lit(False) if through_unknown else is_unknown()
    whole = snapshots.where("is_whole")
    contents = whole.select("cluster_id", "end_offset", "epoch", "content_sha256").distinct()
    records = snapshot_records.join(
        F.broadcast(contents.select("cluster_id", "content_sha256")),
        on=["cluster_id", "content_sha256"],
        how="left_semi",
    ).dropDuplicates(["cluster_id", "content_sha256", "index"])
    records = records.withColumnsRenamed({"index": "offset", "epoch": "leader_epoch"})
    log = branch.where(~hidden).withColumn("content_sha256", F.lit(""))
    rows = spread(log, buckets).unionByName(spread(records, buckets))
    partial = F.broadcast(records.where(hidden).select("content_sha256").distinct())
    partial = partial.withColumn("is_partial", F.lit(True))
    placed = contents.join(partial, on="content_sha256", how="left")
    placed = placed.withColumn("is_base", F.col("is_partial").isNull())
    rows = rows.unionByName(
        _plans(branch, runs_of(branch.where(~hidden)), placed, buckets), allowMissingColumns=True
    )

    def run(table: pa.Table) -> pa.Table:
        return pa.Table.from_pylist(list(work(_part(table, buckets))), schema=schema)

    return rows.groupBy("cluster_id", "bucket").applyInArrow(
        run, from_arrow_schema(schema, prefer_timestamp_ntz=False)
    )


def runs_of(branch: DataFrame) -> DataFrame:
    """cluster_id, start, end (exclusive): the parts of the branch without a hole."""
    by_offset = Window.partitionBy("cluster_id").orderBy("offset")
    starts_run = F.coalesce(F.col("offset") != F.lag("offset").over(by_offset) + 1, F.lit(True))
    numbered = branch.select("cluster_id", "offset", starts_run.cast("int").alias("starts"))
    numbered = numbered.withColumn("run", F.sum("starts").over(by_offset))
    runs = numbered.groupBy("cluster_id", "run").agg(
        F.min("offset").alias("start"), (F.max("offset") + 1).alias("end")
    )
    return runs.drop("run")


def _plans(branch: DataFrame, runs: DataFrame, contents: DataFrame, buckets: int) -> DataFrame:
    """A row for each part of each cluster: its runs and snapshots, as JSON in `payload`."""
    runs = runs.groupBy("cluster_id").agg(F.collect_list(F.array("start", "end")).alias("runs"))
    last = branch.select(
        "cluster_id",
        (F.col("offset") + 1).alias("end_offset"),
        F.col("leader_epoch").alias("branch_epoch"),
    )
    placed = contents.join(last, on=["cluster_id", "end_offset"], how="left")
    found = F.struct(*BranchSnapshot._fields)
    listed = placed.groupBy("cluster_id").agg(F.collect_list(found).alias("snapshots"))
    plan = runs.join(listed, on="cluster_id", how="full")
    return plan.select(
        "cluster_id",
        F.explode(F.sequence(F.lit(0), F.lit(buckets - 1))).alias("bucket"),
        F.lit("").alias("content_sha256"),
        F.lit(False).alias("is_control"),
        F.lit(_PLAN).alias("record_type"),
        F.to_json(F.struct("runs", "snapshots")).alias("payload"),
    )


def _part(table: pa.Table, buckets: int) -> Part:
    is_plan = pc.equal(table["record_type"], _PLAN)
    (row,) = table.filter(is_plan).select(["cluster_id", "bucket", "payload"]).to_pylist()
    plan = json.loads(row["payload"])
    snapshots = (
        # Spark's JSON leaves NULLs out
        BranchSnapshot(*(one.get(name) for name in BranchSnapshot._fields))
        for one in plan.get("snapshots", [])
    )
    return Part(
        row["cluster_id"],
        row["bucket"],
        buckets,
        tuple(sorted((start, end) for start, end in plan.get("runs", []))),
        tuple(sorted(snapshots)),
        table.filter(pc.invert(is_plan)).sort_by("offset"),
    )
