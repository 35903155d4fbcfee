"""gold.divergence_points: each pair of replicas in a capture group."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.tables.gold import DIVERGENCE_POINTS


def divergence_points(findings: DataFrame) -> DataFrame:
    """The table, from group_findings."""
    newest_first = Window.partitionBy("cluster_id").orderBy(
        F.desc("captured_at"), F.desc("ingest_seq"), "capture_group"
    )
    rows = findings.select(
        "cluster_id",
        "capture_group",
        (F.row_number().over(newest_first) == 1).alias("is_latest"),
        "pairs",
    )
    return DIVERGENCE_POINTS.select(rows.select("*", F.inline("pairs")).drop("pairs"))
