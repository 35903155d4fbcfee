"""Snapshots of one id on several replicas: replica.check.same_snapshots on the tables."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.gold.rules.finding_rows import PLACED, placed
from pipelines.gold.rules.same_snapshots import told
from pipelines.gold.snapshot_validity import held_snapshots, unreadable_snapshots
from pipelines.tables.bronze import REPLICA_KEYS
from replica.model.snapshot_id import BOOTSTRAP_SNAPSHOT

_ID = ("cluster_id", "end_offset", "epoch")


def same_snapshot_findings(
    captures: DataFrame, snapshots: DataFrame, findings: DataFrame, compared: DataFrame
) -> DataFrame:
    """PLACED. compared: from silver's same_snapshots, the others bronze's.

    Each snapshot is held against the first replica's of its id; one that can't be read as a whole
    says nothing, and the bootstrap snapshot 0-0 is no state of the log.
    """
    held = held_snapshots(captures, snapshots).where("is_whole")
    held = held.where(F.col("end_offset") > BOOTSTRAP_SNAPSHOT.offset)
    groups = captures.select("capture_group", "capture_id")
    members = held.join(F.broadcast(groups), on="capture_id", how="inner")
    unreadable = unreadable_snapshots(findings).withColumn("is_unreadable", F.lit(True))
    keys = ["capture_id", "end_offset", "epoch"]
    members = members.join(F.broadcast(unreadable), on=keys, how="left")
    of_id = Window.partitionBy("capture_group", *_ID).orderBy("node_id", "directory_id", "file")
    first = F.struct("content_sha256", "file", "is_unreadable")
    pairs = members.withColumn("first", F.first(first).over(of_id)).where(
        "content_sha256 != first.content_sha256 "
        "AND is_unreadable IS NULL AND first.is_unreadable IS NULL"
    )
    pairs = pairs.withColumns(
        {
            "is_swapped": F.col("content_sha256") > F.col("first.content_sha256"),
            "content_sha256": F.least("content_sha256", "first.content_sha256"),
            "against_sha256": F.greatest("content_sha256", "first.content_sha256"),
            "first_file": F.col("first.file"),
        }
    )
    both = [*_ID, "content_sha256", "against_sha256"]
    rows = pairs.join(compared.where("refused = 0"), on=both, how="inner").select(
        *REPLICA_KEYS,
        "capture_id",
        "end_offset",
        "epoch",
        "file",
        "first_file",
        "is_swapped",
        "different",
        "orphans",
        "dropped",
        "sample",
        "explained_sample",
    )
    return rows.mapInArrow(_judge, from_arrow_schema(PLACED, prefer_timestamp_ntz=False))


def _judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from placed(row for one in batch.to_pylist() for row in told(one)).to_batches()
