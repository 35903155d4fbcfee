"""gold.log_growth: what the metadata log grows by."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.tables.bronze import BATCH_KEYS
from pipelines.tables.quorum import LOG_GROWTH

# What a record takes apart from its value: its length, attributes, two deltas, the lengths of key
# and value, and the number of headers, a byte each at least.
_ENVELOPE_BYTES = 7

_KINDS = ("hour", "record_type")


def log_growth(branch_batches: DataFrame, log_records: DataFrame) -> DataFrame:
    """The table, from silver.branch_batches and bronze.log_records.

    A batch's bytes are spread over its records by their length, so those of a table add up to the
    log's.
    """
    records = log_records.select(
        *BATCH_KEYS,
        F.date_trunc("hour", "timestamp").alias("hour"),
        "record_type",
        (F.coalesce(F.octet_length("value"), F.lit(0)) + _ENVELOPE_BYTES).alias("length"),
    )
    batches = branch_batches.select(*BATCH_KEYS, "size_bytes")
    joined = records.join(batches, on=list(BATCH_KEYS), how="inner")
    in_batch = joined.groupBy(*BATCH_KEYS, "size_bytes", *_KINDS).agg(
        F.count("length").alias("records"), F.sum("length").alias("length")
    )
    whole = F.sum("length").over(Window.partitionBy(*BATCH_KEYS))
    parts = in_batch.withColumn("bytes", F.col("size_bytes") * F.col("length") / whole)
    rows = parts.groupBy("cluster_id", *_KINDS).agg(
        F.sum("records").alias("records"),
        F.round(F.sum("bytes")).cast("bigint").alias("bytes"),
    )
    return LOG_GROWTH.select(rows)
