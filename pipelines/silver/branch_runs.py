"""The runs of a cluster's agreed branch: stretches of offsets without a hole."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

_BLOCK = 1 << 16
"""The number of offsets that one task joins first. A block without a hole then becomes one row."""


def runs_of(branch: DataFrame) -> DataFrame:
    """A row for each run of offsets: cluster_id, start (inclusive), end (exclusive).

    branch: cluster_id and offset, each pair once.
    """
    offsets = branch.select("cluster_id", "offset", F.expr(f"offset div {_BLOCK}").alias("block"))
    blocks = offsets.groupBy("cluster_id", "block").agg(
        F.min("offset").alias("start"),
        (F.max("offset") + 1).alias("end"),
        F.count("offset").alias("held"),
    )
    is_whole = F.col("end") - F.col("start") == F.col("held")
    broken = F.broadcast(blocks.where(~is_whole).select("cluster_id", "block"))
    single = offsets.join(broken, on=["cluster_id", "block"], how="left_semi")
    single = single.withColumns({"start": F.col("offset"), "end": F.col("offset") + 1})
    pieces = blocks.where(is_whole).select("cluster_id", "start", "end")
    pieces = pieces.unionByName(_joined(single, "cluster_id", "block").drop("block"))
    return _joined(pieces, "cluster_id")


def _joined(pieces: DataFrame, *keys: str) -> DataFrame:
    """The keys, start and end of the pieces, where pieces that touch are joined."""
    by_start = Window.partitionBy(*keys).orderBy("start")
    is_first = F.coalesce(F.col("start") != F.lag("end").over(by_start), F.lit(True))
    numbered = pieces.withColumn("is_first", is_first.cast("int"))
    numbered = numbered.withColumn("run", F.sum("is_first").over(by_start))
    runs = numbered.groupBy(*keys, "run").agg(
        F.min("start").alias("start"), F.max("end").alias("end")
    )
    return runs.drop("run")
