"""The agreed branch replayed once: every snapshot beside it and beside those of its id, and the
records that the branch refuses. See pipelines.replay.compared."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.replay.compared import COUNTS, REPLAYED, SAMPLE, SNAPSHOT_IDS, compared_by
from pipelines.silver.replay_parts import replay_in_parts


def replayed(
    branch: DataFrame, snapshots: DataFrame, snapshot_records: DataFrame, buckets: int
) -> DataFrame:
    """REPLAYED: a few rows for each part; to be persisted, as everything below reads it.

    branch: from branch_records; the others bronze's; buckets: parts of a replay.
    """
    inputs = branch, snapshots, snapshot_records
    return replay_in_parts(*inputs, buckets, compared_by, REPLAYED, every_snapshot=True)


def snapshot_replay(replayed_parts: DataFrame) -> DataFrame:
    """A row for each snapshot that a replay reaches: SNAPSHOT_IDS, base_offset (where the replay
    began, 0 or the end offset of an older snapshot), different (entities that differ from the
    log's), orphans and dropped (those that Kafka explains, not counted among the former), refused
    (records of the snapshot that can't be applied), sample (the first of the different ones).

    Snapshots off the branch, behind a hole of it or below its start have no row; nor have those
    behind a record that nobody here knows, unless the replay begins again between.
    """
    of_log = replayed_parts.where("content_sha256 IS NOT NULL AND against_sha256 IS NULL")
    return of_log.groupBy(*SNAPSHOT_IDS).agg(
        F.min("base_offset").alias("base_offset"),
        *(F.sum(name).alias(name) for name in COUNTS),
        _first("sample"),
    )


def same_snapshots(replayed_parts: DataFrame) -> DataFrame:
    """A row for each two contents of one snapshot id: SNAPSHOT_IDS, against_sha256 (the greater of
    the two), different, orphans, dropped, refused (records of either that can't be applied),
    sample, explained_sample (in_log: in the content against_sha256)."""
    pairs = replayed_parts.where("against_sha256 IS NOT NULL")
    return pairs.groupBy(*SNAPSHOT_IDS, "against_sha256").agg(
        *(F.sum(name).alias(name) for name in COUNTS),
        _first("sample"),
        _first("explained_sample"),
    )


def _first(sample: str) -> Column:
    """Of all parts' first differences the first ones."""
    return F.slice(F.array_sort(F.flatten(F.collect_list(sample))), 1, SAMPLE).alias(sample)


def refused_records(replayed_parts: DataFrame, committed_log: DataFrame) -> DataFrame:
    """A row for each cluster whose log holds records that can't be applied: cluster_id, refused
    (how many), first_refused (struct: offset, record_type, reason, because), its leader_epoch.

    committed_log: silver's.
    """
    runs = replayed_parts.where("content_sha256 IS NULL AND refused > 0")
    first = F.min_by("first_refused", "first_refused.offset").alias("first_refused")
    found = runs.groupBy("cluster_id").agg(F.sum("refused").alias("refused"), first)
    found = F.broadcast(found.withColumn("offset", F.col("first_refused.offset")))
    epochs = committed_log.select("cluster_id", "offset", "leader_epoch")
    return epochs.join(found, on=["cluster_id", "offset"], how="inner").drop("offset")
