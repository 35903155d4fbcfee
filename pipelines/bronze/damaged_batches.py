"""Damaged batches that are known whole from elsewhere, under the CRC that they have there.

What a damaged batch held can't be told, so the bulk reader shows a keyed CRC of it, as of a batch
with a secret. Where the lake has the same batch undamaged, or another file of the round has, it is
known whether it holds one; then both are the same row of bronze.log_batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.bronze.captured import Captured
from pipelines.bronze.files import new_segments
from replica.metadata.redact import Redactor

_KEY = ("cluster_id", "base_offset", "leader_epoch", "crc")
"""Of a batch in any log of a cluster."""
_SCHEMA = "cluster_id string, base_offset bigint, leader_epoch int, crc bigint, shown_crc bigint"


def known_whole(
    spark: SparkSession,
    batches: DataFrame,
    table: DataFrame,
    captured: Sequence[Captured],
    redactor: Redactor | None,
) -> DataFrame:
    """batches: of kraft_log with a replica's columns; table: rows of bronze.log_batches."""
    damaged = set(_damaged(captured))
    if redactor is None or not damaged:
        return batches
    rows = [(*key, redactor.batch_crc(key[1], key[3])) for key in damaged]
    sought = F.broadcast(spark.createDataFrame(rows, _SCHEMA))
    whole = table.where("crc_valid").select(*_KEY)
    whole = whole.unionByName(batches.where("crc_valid").select(*_KEY))
    found = sought.join(whole, on=list(_KEY), how="left_semi").collect()
    if not found:
        return batches
    known = spark.createDataFrame(found, _SCHEMA)
    known = known.select(*_KEY[:3], F.col("crc").alias("own_crc"), F.col("shown_crc").alias("crc"))
    joined = batches.join(F.broadcast(known), on=list(_KEY), how="left")
    own = F.when(~F.col("crc_valid"), F.col("own_crc"))
    return joined.withColumn("crc", F.coalesce(own, "crc")).drop("own_crc")


def _damaged(captured: Sequence[Captured]) -> Iterable[tuple[str, int, int, int]]:
    """_KEY of each, with the CRC that stands in its header."""
    for one, segment in new_segments(captured):
        for batch in segment.scan.new_batches:
            if not batch.crc_valid:
                header = batch.header
                cluster = one.look.replica.cluster_id
                yield cluster, header.base_offset, header.leader_epoch, header.crc
