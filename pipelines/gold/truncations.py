"""gold.truncations: what really vanished from a replica's log between two captures of it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.silver.branch_pieces import BATCH
from pipelines.silver.held_batches import entries_end
from pipelines.tables.bronze import REPLICA_KEYS
from pipelines.tables.gold import TRUNCATIONS

_LOOK = (*REPLICA_KEYS, "seen_at")


def truncations(
    log_batches: DataFrame, committed_log: DataFrame, proven: DataFrame, captures: DataFrame
) -> DataFrame:
    """The table: a row for each run of offsets that one capture shows to be gone.

    log_batches, captures: bronze's, committed_log: silver's, proven: from proven_ranges. What was
    deleted behind a snapshot is no truncation: that is removed_at.
    """
    gone = log_batches.where(F.col("truncated_at").isNotNull() & F.col("crc_valid"))
    gone = gone.withColumn("seen_at", F.col("truncated_at"))
    end = entries_end()
    gone = gone.where(end > F.col("base_offset")).join(proven, on=list(BATCH), how="left")
    offsets = F.explode(F.sequence("base_offset", end - 1)).alias("offset")
    entries = gone.select(*_LOOK, "last_seen", "leader_epoch", "crc", "proven", offsets)
    agreed = committed_log.select("cluster_id", "offset", "commitment")
    judged = entries.join(agreed, on=["cluster_id", "offset"], how="left")
    looks = captures.groupBy(*REPLICA_KEYS, F.col("captured_at").alias("seen_at")).agg(
        F.min("round_name").alias("seen_in_round")
    )
    runs = _runs(judged.withColumn("verdict", _verdict()))
    return TRUNCATIONS.select(runs.join(F.broadcast(looks), on=list(_LOOK), how="left"))


def _verdict() -> Column:
    """committed: the vanished entry itself is proven; superseded: another one at its offset is."""
    offset = F.col("offset")
    is_proven = F.exists("proven", lambda r: (r["low"] <= offset) & (offset < r["high"]))
    return (
        F.when(is_proven, F.lit("committed"))
        .when(F.col("commitment") == "proven", F.lit("superseded"))
        .otherwise(F.lit("unproven"))
    )


def _runs(entries: DataFrame) -> DataFrame:
    """Neighbouring offsets of one look in one row."""
    by_offset = Window.partitionBy(*_LOOK).orderBy("offset", "leader_epoch", "crc")
    starts_run = F.coalesce(F.col("offset") > F.lag("offset").over(by_offset) + 1, F.lit(True))
    numbered = entries.withColumn("starts_run", starts_run.cast("int"))
    run = F.sum("starts_run").over(by_offset)
    lost = {
        f"{verdict}_lost": F.count_if(F.col("verdict") == verdict)
        for verdict in ("committed", "unproven", "superseded")
    }
    return (
        numbered.withColumn("run", run)
        .groupBy(*_LOOK, "run")
        .agg(
            F.min("offset").alias("from_offset"),
            (F.max("offset") + 1).alias("to_offset"),
            F.array_sort(F.collect_set("leader_epoch")).alias("epochs"),
            F.count("offset").alias("records"),
            F.max("last_seen").alias("last_seen"),
            *(count.alias(name) for name, count in lost.items()),
        )
    )
