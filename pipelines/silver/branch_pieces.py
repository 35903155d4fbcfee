"""The batches that capture groups judge, cut to the offsets that they judge."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.silver.held_batches import entries_end

BATCH = ("cluster_id", "base_offset", "leader_epoch", "crc")


def pieces_of(held: DataFrame, parts: DataFrame) -> DataFrame:
    """BATCH, low (inclusive), high (exclusive) and the parts' other columns: a row for each batch
    that reaches into a part of its capture's log.

    held: from held_batches. parts: cluster_id, capture_id, start (inclusive), end (exclusive).
    """
    joined = held.join(F.broadcast(parts), on=["cluster_id", "capture_id"], how="inner")
    low, high = F.greatest("start", "base_offset"), F.least("end", entries_end())
    others = [name for name in parts.columns if name not in ("cluster_id", "start", "end")]
    cut = joined.select(*BATCH, low.alias("low"), high.alias("high"), *others)
    return cut.where(F.col("low") < F.col("high"))


def proven_ranges(held: DataFrame, findings: DataFrame) -> DataFrame:
    """BATCH and `proven`, an array of (low, high) as in pieces_of: what of a batch some capture
    group proves to be committed, also where another proof contradicts it.

    held: from held_batches, findings: from group_findings.
    """
    parts = F.concat("branch_parts", "overruled")
    told = findings.select("cluster_id", F.inline(parts)).where("commitment = 'proven'")
    proven = F.collect_set(F.struct("low", "high")).alias("proven")
    return pieces_of(held, told.drop("commitment")).groupBy(*BATCH).agg(proven)
