"""gold.divergence_points: each pair of replicas in a capture group."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.gold.newest_group import is_newest_group
from pipelines.tables.gold import DIVERGENCE_POINTS


def divergence_points(findings: DataFrame, captures: DataFrame) -> DataFrame:
    """The table; findings: from group_findings; captures: bronze.captures."""
    names = captures.groupBy("cluster_id", "capture_group").agg(
        F.min("round_name").alias("round_name")
    )
    rows = findings.select(
        "cluster_id", "capture_group", is_newest_group().alias("is_latest"), "pairs"
    )
    rows = rows.join(F.broadcast(names), on=["cluster_id", "capture_group"], how="left")
    return DIVERGENCE_POINTS.select(rows.select("*", F.inline("pairs")).drop("pairs"))
