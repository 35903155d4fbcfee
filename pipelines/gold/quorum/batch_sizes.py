"""gold.batch_sizes: how large batches are, to the tail."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.in_memory.quorum.batch_sizes import PERCENTILES
from pipelines.tables.quorum import BATCH_SIZES


def batch_sizes(branch_batches: DataFrame) -> DataFrame:
    """The table, from silver.branch_batches."""
    hour = F.date_trunc("hour", "max_timestamp").alias("hour")
    rows = branch_batches.groupBy("cluster_id", hour).agg(
        F.count("size_bytes").alias("batches"),
        F.sum("record_count").alias("records"),
        F.sum("size_bytes").alias("bytes"),
        *(_percentile(part).alias(f"{name}_bytes") for name, part in PERCENTILES.items()),
        F.max("size_bytes").alias("max_bytes"),
        F.max("record_count").alias("max_records"),
        # the first of those that are equally large
        F.max_by("base_offset", F.struct("size_bytes", -F.col("base_offset"))).alias(
            "largest_offset"
        ),
    )
    return BATCH_SIZES.select(rows)


def _percentile(part: float) -> Column:
    """The least size that this part of the batches doesn't exceed: one that a batch has."""
    value = F.expr(f"percentile_disc({part}) WITHIN GROUP (ORDER BY size_bytes)")
    return value.cast("bigint")
