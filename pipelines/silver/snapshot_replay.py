"""What the replay of the agreed branch tells of snapshots, each beside the branch and beside those
of its id, and of records that the branch refuses. See pipelines.replay.compared."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.replay.compared import COUNTS, SAMPLE, SNAPSHOT_IDS
from pipelines.replay.walk import COMPARED


def compared_rows(written: DataFrame) -> DataFrame:
    """REPLAYED: a few rows for each part; to be persisted, as everything below reads it.

    written: from agreed_replay.
    """
    return written.where(F.col("what") == COMPARED).select("cluster_id", f"{COMPARED}.*")


def snapshot_replay(compared: DataFrame) -> DataFrame:
    """A row for each snapshot that a replay reaches: SNAPSHOT_IDS, base_offset (where the replay
    began, 0 or the end offset of an older snapshot), different (entities that differ from the
    log's), orphans and dropped (those that Kafka explains, not counted among the former), refused
    (records of the snapshot that can't be applied), sample (the first of the different ones).

    Snapshots off the branch, behind a hole of it or below its start have no row; nor have those
    behind a record that nobody here knows, unless the replay begins again between.
    """
    of_log = compared.where("content_sha256 IS NOT NULL AND against_sha256 IS NULL")
    return of_log.groupBy(*SNAPSHOT_IDS).agg(
        F.min("base_offset").alias("base_offset"),
        *(F.sum(name).alias(name) for name in COUNTS),
        _first("sample"),
    )


def same_snapshots(compared: DataFrame) -> DataFrame:
    """A row for each two contents of one snapshot id: SNAPSHOT_IDS, against_sha256 (the greater of
    the two), different, orphans, dropped, refused (records of either that can't be applied),
    sample, explained_sample (in_log: in the content against_sha256)."""
    pairs = compared.where("against_sha256 IS NOT NULL")
    return pairs.groupBy(*SNAPSHOT_IDS, "against_sha256").agg(
        *(F.sum(name).alias(name) for name in COUNTS),
        _first("sample"),
        _first("explained_sample"),
    )


def _first(sample: str) -> Column:
    """Of all parts' first differences the first ones."""
    return F.slice(F.array_sort(F.flatten(F.collect_list(sample))), 1, SAMPLE).alias(sample)


def refused_records(compared: DataFrame, committed_log: DataFrame) -> DataFrame:
    """A row for each cluster whose log holds records that can't be applied: cluster_id, refused
    (how many), first_refused (struct: offset, record_type, reason, because), its leader_epoch.

    committed_log: silver's.
    """
    runs = compared.where("content_sha256 IS NULL AND refused > 0")
    first = F.min_by("first_refused", "first_refused.offset").alias("first_refused")
    found = runs.groupBy("cluster_id").agg(F.sum("refused").alias("refused"), first)
    found = F.broadcast(found.withColumn("offset", F.col("first_refused.offset")))
    epochs = committed_log.select("cluster_id", "offset", "leader_epoch")
    return epochs.join(found, on=["cluster_id", "offset"], how="inner").drop("offset")
