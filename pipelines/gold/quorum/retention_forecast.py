"""gold.retention_forecast: when Kafka's default retention takes the head of a log."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.in_memory.quorum.retention_forecast import FAR_MS, MAX_BYTES, MAX_MS
from pipelines.tables.bronze import REPLICA_KEYS
from pipelines.tables.quorum import RETENTION_FORECAST
from replica.format.timestamps import LAST_MS

# Defaults of MetadataLogConfig, which KafkaMetadataLog.maybeClean applies

_DAY_MS = 24 * 3_600_000


def retention_forecast(
    captures: DataFrame, snapshots: DataFrame, branch_batches: DataFrame, cadence: DataFrame
) -> DataFrame:
    """The table; branch_batches: silver's; cadence: gold.snapshot_cadence; the others bronze's.

    Sizes are those of the newest capture, and so is the growth: what will be isn't known.
    """
    rows = (
        _newest_captures(captures)
        .join(F.broadcast(_kept_snapshots(snapshots)), on="capture_id", how="left")
        .join(F.broadcast(_log_growth(branch_batches)), on="cluster_id", how="left")
        .join(F.broadcast(_snapshot_growth(cadence)), on=list(REPLICA_KEYS), how="left")
    )
    rows = rows.withColumns(
        {name: F.coalesce(name, F.lit(0)) for name in ("snapshots", "snapshot_bytes")}
    )
    rows = rows.withColumns({"bytes_reached_at": _by_bytes(), "ms_reached_at": _by_time()})
    # least() passes over NULL
    goes = F.when(F.col("snapshots") >= 2, F.least("bytes_reached_at", "ms_reached_at"))
    following = F.when(goes.isNotNull(), F.col("second_end"))
    return RETENTION_FORECAST.select(
        rows.withColumns({"head_goes_at": goes, "next_log_start_offset": following})
    )


def _newest_captures(captures: DataFrame) -> DataFrame:
    """Of each replica: capture_id, log_bytes."""
    logs = F.filter("files", lambda file: file["path"].rlike(r"/\d{20}\.log$"))
    sizes = F.transform(logs, lambda file: file["size_bytes"])
    total = F.aggregate(sizes, F.lit(0).cast("bigint"), lambda sum_, size: sum_ + size)
    look = F.struct("captured_at", "ingest_seq", "capture_id", total.alias("log_bytes"))
    newest = captures.groupBy(*REPLICA_KEYS).agg(F.max(look).alias("newest"))
    return newest.select(*REPLICA_KEYS, "newest.capture_id", "newest.log_bytes")


def _kept_snapshots(snapshots: DataFrame) -> DataFrame:
    """Of each capture: snapshots, snapshot_bytes, oldest_time, second_end."""
    kept = snapshots.withColumn("capture_id", F.explode("captures"))
    at = F.col("last_contained_log_timestamp").alias("at")
    in_order = F.array_sort(F.collect_list(F.struct("end_offset", "epoch", at)))
    found = kept.groupBy("capture_id").agg(
        F.count("end_offset").alias("snapshots"),
        F.sum("size_bytes").alias("snapshot_bytes"),
        in_order.alias("in_order"),
    )
    return found.select(
        "capture_id",
        "snapshots",
        "snapshot_bytes",
        F.get("in_order", F.lit(0))["at"].alias("oldest_time"),
        F.get("in_order", F.lit(1))["end_offset"].alias("second_end"),
    )


def _log_growth(branch_batches: DataFrame) -> DataFrame:
    """Of each cluster: log_bytes_per_day, measured_ms, log_time, that of its newest record."""
    times = branch_batches.groupBy("cluster_id").agg(F.max("max_timestamp").alias("log_time"))
    at = F.unix_millis("max_timestamp")
    recent = branch_batches.join(F.broadcast(times), on="cluster_id", how="inner")
    recent = recent.where(at >= F.unix_millis("log_time") - MAX_MS)
    grown = recent.groupBy("cluster_id", "log_time").agg(
        (F.max(at) - F.min(at)).alias("span"), F.sum("size_bytes").alias("bytes")
    )
    measured = F.when(F.col("span") > 0, F.col("span"))
    per_day = F.round(F.col("bytes") * _DAY_MS / measured).cast("bigint")
    return grown.select(
        "cluster_id",
        "log_time",
        measured.alias("measured_ms"),
        per_day.alias("log_bytes_per_day"),
    )


def _snapshot_growth(cadence: DataFrame) -> DataFrame:
    """Of each replica: snapshot_bytes_per_day, by its newest snapshot."""
    since = F.when(F.col("ms_since") > 0, F.col("ms_since"))
    per_day = F.round(F.col("size_bytes") * _DAY_MS / since).cast("bigint")
    newest = F.max_by(per_day, F.struct("epoch", "end_offset"))
    return cadence.groupBy(*REPLICA_KEYS).agg(newest.alias("snapshot_bytes_per_day"))


def _by_bytes() -> Column:
    left = F.greatest(F.lit(MAX_BYTES) - F.col("log_bytes") - F.col("snapshot_bytes"), F.lit(0))
    per_day = F.col("log_bytes_per_day") + F.coalesce("snapshot_bytes_per_day", F.lit(0))
    in_ms = left * _DAY_MS / F.when(per_day > 0, per_day)
    at = _moment(F.unix_millis("log_time") + in_ms.cast("bigint"))
    return F.when(in_ms < FAR_MS, at)


def _by_time() -> Column:
    return _moment(F.unix_millis("oldest_time") + MAX_MS)


def _moment(ms: Column) -> Column:
    """ms: since the epoch. NULL beyond the calendar, as replica.format.timestamps.moment."""
    return F.when(ms <= LAST_MS, F.timestamp_millis(ms))
