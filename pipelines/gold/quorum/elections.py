"""gold.elections: how often the quorum changed its leader, and how often it failed to."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.tables.quorum import ELECTIONS

_KEYS = ["cluster_id", "epoch"]


def elections(history: DataFrame, captures: DataFrame, replica_state: DataFrame) -> DataFrame:
    """The table; history: gold.leader_epoch_history, the others bronze's."""
    known = history.select(*_KEYS, "leader_id", "start_offset", "started_at", "ended_at")
    begun = known.withColumns({"at": F.col("started_at"), "has_leader": F.lit(True)})
    seen = _seen_epochs(captures, replica_state).join(known, on=_KEYS, how="left_anti")
    epochs = begun.unionByName(
        seen.withColumn("has_leader", F.lit(False)), allowMissingColumns=True
    )
    by_epoch = Window.partitionBy("cluster_id").orderBy("epoch")
    # A log that begins at offset 0 shows the first leader that the cluster ever had.
    first = F.when(F.col("start_offset") == 0, F.lit(0)).otherwise(F.col("epoch") - 1)
    before = F.coalesce(F.lag("epoch").over(by_epoch), first)
    leaderless = F.col("epoch") - before - F.col("has_leader").cast("int")
    reign = F.unix_millis("ended_at") - F.unix_millis("started_at")
    rows = epochs.withColumns({"leaderless": leaderless, "reign": reign})
    hour = F.date_trunc("hour", "at").alias("hour")
    return ELECTIONS.select(
        rows.groupBy("cluster_id", hour).agg(
            F.count_if("has_leader").alias("elections"),
            F.array_sort(F.collect_set("leader_id")).alias("leaders"),
            F.sum("leaderless").alias("leaderless_epochs"),
            F.min("reign").alias("shortest_ms"),
        )
    )


def _seen_epochs(captures: DataFrame, replica_state: DataFrame) -> DataFrame:
    """The epochs that quorum-states were in: _KEYS, and `at`, when the first capture shows one."""
    looks = captures.select("capture_id", "captured_at")
    state = replica_state.where("leader_epoch > 0")
    state = state.select("capture_id", "cluster_id", F.col("leader_epoch").alias("epoch"))
    seen = state.join(looks, on="capture_id", how="inner")
    return seen.groupBy(*_KEYS).agg(F.min("captured_at").alias("at"))
