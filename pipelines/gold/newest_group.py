"""Which capture group of a cluster is the newest one."""

from __future__ import annotations

from pyspark.sql import Column, Window
from pyspark.sql import functions as F


def is_newest_group() -> Column:
    """The condition, for rows of group_findings."""
    newest_first = Window.partitionBy("cluster_id").orderBy(
        F.desc("captured_at"), F.desc("ingest_seq"), "capture_group"
    )
    return F.row_number().over(newest_first) == 1
