"""The branches that lost: records that replicas once held behind the agreed branch."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.tables.bronze import BATCH_KEYS

_ENTRY = ("cluster_id", "base_offset", "leader_epoch", "crc")


def lost_tails(held: DataFrame, committed_log: DataFrame, log_records: DataFrame) -> DataFrame:
    """Records of the agreed log's branches: position (the fork's offset, the first at which such a
    log holds another entry than the agreed one), tail_id (a capture that shows it), commitment
    (superseded where the agreed entry at the fork is proven, else unproven), and the columns of
    bronze.log_records.

    held: from held_batches; committed_log: silver's; log_records: bronze's. Two tails may begin
    with the same records, and then both tell them.
    """
    agreed = committed_log.withColumnRenamed("offset", "base_offset")
    held = held.select("capture_id", *BATCH_KEYS)
    off_branch = held.join(agreed, on=list(_ENTRY), how="left_anti")
    at_base = agreed.select("cluster_id", "base_offset", "commitment")
    forks = (
        off_branch.join(at_base, on=["cluster_id", "base_offset"], how="inner")
        .groupBy("cluster_id", "capture_id")
        .agg(
            F.min("base_offset").alias("position"),
            F.min_by("commitment", "base_offset").alias("commitment"),
            # a tail is named by its last entry: logs with one last entry are equal below it (Raft)
            F.max(F.struct(*_ENTRY[1:])).alias("last"),
        )
    )
    tails = forks.groupBy("cluster_id", "position", "last").agg(
        F.min("capture_id").alias("tail_id"), F.first("commitment").alias("commitment")
    )
    tails = tails.withColumn(
        "commitment",
        F.when(F.col("commitment") == "proven", F.lit("superseded")).otherwise("unproven"),
    )
    of_tail = off_branch.withColumnRenamed("capture_id", "tail_id").join(
        F.broadcast(tails.drop("last")), on=["cluster_id", "tail_id"], how="inner"
    )
    batches = of_tail.where(F.col("base_offset") >= F.col("position"))
    return log_records.join(F.broadcast(batches), on=list(BATCH_KEYS), how="inner")
