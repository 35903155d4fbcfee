"""The lengths of the agreed branch's records, counted by Spark's workers."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.arrow_frames import dataframe_of
from pipelines.in_memory.quorum.log_growth import ENVELOPE_BYTES
from pipelines.tables.bronze import BATCH_KEYS

_KINDS = ("hour", "record_type")


def record_lengths(log_records: DataFrame, holders: pa.Table) -> DataFrame:
    """The lengths of records, with the columns cluster_id and those of LENGTHS. holders: for each
    range of base offsets the replica whose copy is counted: cluster_id, node_id, directory_id, from
    (inclusive) and to (inclusive)."""
    spans = F.broadcast(dataframe_of(log_records.sparkSession, holders))
    replica = ["cluster_id", "node_id", "directory_id"]
    records = log_records.select(
        *BATCH_KEYS,
        F.date_trunc("hour", "timestamp").alias("hour"),
        "record_type",
        (F.coalesce(F.octet_length("value"), F.lit(0)) + ENVELOPE_BYTES).alias("length"),
    )
    held = records.join(spans, on=replica, how="inner")
    held = held.where(F.col("base_offset").between(F.col("from"), F.col("to")))
    return held.groupBy(*BATCH_KEYS, *_KINDS).agg(
        F.count("length").alias("records"), F.sum("length").cast("bigint").alias("length")
    )
