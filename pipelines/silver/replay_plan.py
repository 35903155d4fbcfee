"""The plan of each cluster's replay, made of the agreed branch (pipelines.replay.plan)."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.silver.branch_runs import runs_of


def plans(branch: DataFrame, known: DataFrame, contents: DataFrame) -> DataFrame:
    """cluster_id and plan, which is the JSON of a Plan.

    branch: cluster_id, offset, leader_epoch. known: those rows of branch whose records can be
    replayed. contents: CONTENT_IDS, timestamp, can_begin (whether a replay may begin with this
    snapshot).
    """
    ids = F.broadcast(contents.select("cluster_id", "end_offset").distinct())
    last = branch.select(
        "cluster_id",
        (F.col("offset") + 1).alias("end_offset"),
        F.col("leader_epoch").alias("branch_epoch"),
    ).join(ids, on=["cluster_id", "end_offset"], how="left_semi")
    snapshot = F.struct(
        "end_offset",
        "epoch",
        "content_sha256",
        "branch_epoch",
        F.unix_micros("timestamp").alias("timestamp_us"),
    )
    placed = contents.join(F.broadcast(last), on=["cluster_id", "end_offset"], how="left")
    placed = placed.select("cluster_id", "can_begin", snapshot.alias("snapshot"))
    run = F.struct("start", "end", F.col("base").alias("base"))
    runs = _with_bases(runs_of(known), placed)
    runs = runs.groupBy("cluster_id").agg(F.sort_array(F.collect_list(run)).alias("runs"))
    listed = placed.groupBy("cluster_id").agg(
        F.sort_array(F.collect_list("snapshot")).alias("snapshots")
    )
    ends = branch.groupBy("cluster_id").agg((F.max("offset") + 1).alias("log_end"))
    plan = F.to_json(F.struct("runs", "snapshots", "log_end")).alias("plan")
    planned = runs.join(listed, on="cluster_id", how="full")
    return planned.join(ends, on="cluster_id", how="left").select("cluster_id", plan)


def _with_bases(runs: DataFrame, placed: DataFrame) -> DataFrame:
    """cluster_id, start, end, base. base is NULL for a run from offset 0, and for a run without
    one."""
    snapshot = placed.where("can_begin").select("cluster_id", "snapshot")
    fits = F.expr(
        "snapshot.end_offset BETWEEN `start` AND `end` AND `start` > 0 AND "
        "coalesce(snapshot.branch_epoch, snapshot.epoch) = snapshot.epoch"
    )
    found = runs.join(F.broadcast(snapshot), on="cluster_id", how="left")
    # not an aggregate's filter: NULL structs would win its minimum
    base = F.min(F.when(fits, F.col("snapshot"))).alias("base")
    return found.groupBy("cluster_id", "start", "end").agg(base)
