"""gold.snapshot_cadence: how often replicas snapshot, and what their logs grew by meanwhile."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.in_memory.quorum.snapshot_cadence import MAX_BYTES, MAX_INTERVAL_MS
from pipelines.tables.bronze import REPLICA_KEYS
from pipelines.tables.quorum import SNAPSHOT_CADENCE

# MetadataLogConfig's defaults

_ID = (*REPLICA_KEYS, "end_offset", "epoch")


def snapshot_cadence(snapshots: DataFrame, branch_batches: DataFrame) -> DataFrame:
    """The table; snapshots: bronze's, branch_batches: silver's.

    Files that were never complete, and the bootstrap snapshot 0-0, are left out.
    """
    facts = ("size_bytes", "record_count", "last_contained_log_timestamp")
    complete = snapshots.where("end_offset > 0 AND state != 'part'")
    # of two contents under one name the one that was seen last counts
    newest = F.max_by(F.struct(*facts), F.struct("last_seen", "content_sha256"))
    found = complete.groupBy(*_ID).agg(newest.alias("facts")).select(*_ID, "facts.*")
    ends = found.select("cluster_id", "end_offset").distinct()
    rows = found.join(_log_below(ends, branch_batches), on=["cluster_id", "end_offset"], how="left")
    before = Window.partitionBy(*REPLICA_KEYS).orderBy("end_offset", "epoch")
    at = F.col("last_contained_log_timestamp")
    since = F.unix_millis(at) - F.unix_millis(F.lag(at).over(before))
    rows = rows.withColumns(
        {
            "previous_end_offset": F.lag("end_offset").over(before),
            "ms_since": since,
            "previous": F.lag(F.struct("bytes_below", "offsets_below")).over(before),
        }
    ).withColumn("records_since", F.col("end_offset") - F.col("previous_end_offset"))
    rows = rows.withColumn("log_bytes_since", _bytes_since())
    return SNAPSHOT_CADENCE.select(rows.withColumn("reached", _reached()))


def _log_below(ends: DataFrame, branch_batches: DataFrame) -> DataFrame:
    """cluster_id, end_offset, and of the batches of the branch below it: bytes_below,
    offsets_below."""
    offsets = F.col("last_offset") + 1 - F.col("base_offset")
    batches = branch_batches.select(
        "cluster_id",
        F.col("base_offset").alias("offset"),
        F.col("size_bytes").alias("bytes"),
        offsets.alias("offsets"),
    )
    marks = ends.select("cluster_id", F.col("end_offset").alias("offset"), "end_offset")
    events = batches.unionByName(marks, allowMissingColumns=True)
    # a batch that begins at a snapshot's end isn't in it
    in_order = Window.partitionBy("cluster_id").orderBy("offset", F.col("end_offset").isNull())
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = events.withColumns(
        {f"{name}_below": F.sum(name).over(so_far) for name in ("bytes", "offsets")}
    )
    marked = counted.where(F.col("end_offset").isNotNull())
    return marked.select("cluster_id", "end_offset", "bytes_below", "offsets_below")


def _bytes_since() -> Column:
    """NULL unless the branch holds every offset between the two snapshots."""
    none = F.lit(0)
    offsets = F.coalesce("offsets_below", none) - F.coalesce("previous.offsets_below", none)
    in_bytes = F.coalesce("bytes_below", none) - F.coalesce("previous.bytes_below", none)
    return F.when(offsets == F.col("records_since"), in_bytes)


def _reached() -> Column:
    by_bytes = F.col("log_bytes_since") >= MAX_BYTES
    by_interval = F.col("ms_since") >= MAX_INTERVAL_MS
    # one threshold that is reached is enough to know; to know that none is reached takes both
    is_neither = ~by_bytes & ~by_interval
    return F.when(by_bytes, "bytes").when(by_interval, "interval").when(is_neither, "neither")
