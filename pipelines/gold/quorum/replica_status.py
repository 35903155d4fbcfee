"""gold.replica_status: where each replica of each capture group stands."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.gold.newest_group import is_newest_group
from pipelines.gold.quorum.stated_voters import known_directory
from pipelines.tables.bronze import REPLICA_KEYS
from pipelines.tables.quorum import REPLICA_STATUS

_GROUP = ("cluster_id", "capture_group")
_STATE = ("quorum_version", "leader_id", "leader_epoch", "voted_id", "voted_directory_id")


def replica_status(
    captures: DataFrame,
    held: DataFrame,
    snapshots: DataFrame,
    replica_state: DataFrame,
    stated: DataFrame,
    findings: DataFrame,
) -> DataFrame:
    """The table; held: from held_batches, stated: from stated_voters, findings: from
    group_findings, the others bronze's."""
    groups = findings.select(
        *_GROUP, is_newest_group().alias("is_latest"), "branch_end", "progress"
    )
    progress = groups.select(*_GROUP, F.inline("progress"))
    rows = captures.select(
        *REPLICA_KEYS,
        "capture_group",
        "capture_id",
        "captured_at",
        "round_name",
        "log_start_offset",
        "log_end_offset",
    )
    by_capture = (
        replica_state.select("capture_id", *_STATE),
        stated.select("capture_id", F.col("in_force.voters").alias("voters")),
        _newest_snapshots(snapshots),
    )
    for part in by_capture:
        rows = rows.join(F.broadcast(part), on="capture_id", how="left")
    rows = rows.join(F.broadcast(groups.drop("progress")), on=list(_GROUP), how="left")
    rows = rows.join(F.broadcast(progress), on=[*_GROUP, "capture_id"], how="left")
    ends = progress.select("capture_id", "agreed_end").distinct()
    log_times = F.broadcast(_log_times(held, ends))
    rows = rows.join(log_times, on=["capture_id", "agreed_end"], how="left")
    rows = rows.withColumn("is_voter", _is_voter()).withColumn("role", _role())
    return REPLICA_STATUS.select(_with_lag(rows).withColumns(_named()))


def _newest_snapshots(snapshots: DataFrame) -> DataFrame:
    """capture_id, snapshot_epoch, snapshot_end_offset, snapshot_time."""
    whole = snapshots.where("is_whole AND end_offset > 0")
    each = whole.withColumn("capture_id", F.explode("captures"))
    newest = F.max(
        F.struct(
            F.col("epoch").alias("snapshot_epoch"),
            F.col("end_offset").alias("snapshot_end_offset"),
            F.col("last_contained_log_timestamp").alias("snapshot_time"),
        )
    )
    found = each.groupBy("capture_id").agg(newest.alias("newest"))
    return found.select("capture_id", "newest.*")


def _log_times(held: DataFrame, ends: DataFrame) -> DataFrame:
    """capture_id, agreed_end (exclusive), last_epoch, last_append_time, and agreed_time, of the
    newest record below agreed_end."""
    batches = held.select("capture_id", "base_offset", "leader_epoch", "max_timestamp")
    cut = batches.join(F.broadcast(ends), on="capture_id", how="inner")
    is_agreed = F.col("base_offset") < F.col("agreed_end")
    return cut.groupBy("capture_id", "agreed_end").agg(
        F.max("leader_epoch").alias("last_epoch"),
        F.max("max_timestamp").alias("last_append_time"),
        F.max(F.when(is_agreed, F.col("max_timestamp"))).alias("agreed_time"),
    )


def _is_voter() -> Column:
    def is_it(voter: Column) -> Column:
        directory = known_directory(voter["directory_id"])
        return (voter["voter_id"] == F.col("node_id")) & F.coalesce(
            directory == F.col("directory_id"), F.lit(True)
        )

    return F.exists("voters", is_it)


def _role() -> Column:
    """As current-state of KafkaRaftMetrics has it; a leader that stops comes back as resigned."""
    leads = F.col("leader_id") == F.col("node_id")
    has_leader = F.col("leader_id") >= 0
    stands = F.col("voted_id") == F.col("node_id")
    follows = F.when(~F.col("is_voter"), F.lit("observer")).otherwise(F.lit("follower"))
    role = (
        F.when(leads, F.lit("leader"))
        .when(has_leader, follows)
        .when(stands, F.lit("candidate"))
        .otherwise(F.lit("unattached"))
    )
    return F.when(F.col("quorum_version").isNotNull(), role)


def _with_lag(rows: DataFrame) -> DataFrame:
    # a log that begins at a snapshot holds nothing of the time before
    shared = F.unix_millis(F.coalesce("agreed_time", "snapshot_time"))
    newest = F.max(shared).over(Window.partitionBy(*_GROUP))
    behind = F.greatest(F.col("branch_end") - F.col("agreed_end"), F.lit(0))
    return rows.withColumns({"lag_records": behind, "lag_ms": newest - shared})


def _named() -> dict[str, Column]:
    """Columns under the table's names, -1 and the zero UUID as NULL."""
    return {
        **{name: F.when(F.col(name) >= 0, F.col(name)) for name in ("leader_id", "voted_id")},
        "voted_directory_id": known_directory(F.col("voted_directory_id")),
        "high_watermark_evidence": F.col("evidence"),
        "evidence_holders": F.col("holders"),
        "agreed_end_offset": F.col("agreed_end"),
        "is_latest": F.coalesce("is_latest", F.lit(False)),
    }
