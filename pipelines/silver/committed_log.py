"""silver.committed_log: the agreed branch of a cluster, entry by entry, over all captures.

What is proven in one capture group stays so, up to where a newer group proves another history (in
a cluster that broke Raft's promises). Of what no group proves the newest group decides whose branch
reaches the offset, as it does for gold.leader_epoch_history.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.silver.branch_pieces import BATCH, pieces_of
from pipelines.tables.silver import COMMITTED_LOG

_PIECE = (*BATCH, "low", "high", "commitment")


def committed_log(held: DataFrame, findings: DataFrame) -> DataFrame:
    """The table; held: from held_batches, findings: from group_findings.

    Offsets that no replica holds have no row.
    """
    offsets = F.explode(F.sequence("low", F.col("high") - 1)).alias("offset")
    entries = _pieces(held, findings).select(*_PIECE, "moment", offsets)
    judged = entries.join(F.broadcast(_judges(findings)), on="cluster_id", how="inner")
    taken = judged.where((F.col("commitment") == "proven") | ~_is_passed())
    best = F.max(
        F.struct(
            (F.col("commitment") == "proven").alias("is_proven"),
            "moment",
            "leader_epoch",
            "crc",
            "commitment",
        )
    ).alias("best")
    rows = taken.groupBy("cluster_id", "offset").agg(best)
    return COMMITTED_LOG.select(rows.select("cluster_id", "offset", "best.*"))


def _pieces(held: DataFrame, findings: DataFrame) -> DataFrame:
    """Each piece of a batch that some group's branch holds: _PIECE, and its newest group's moment.

    low inclusive, high exclusive. An unchanged log gives the same pieces in every group, so what is
    counted entry by entry later doesn't grow with the number of captures.
    """
    parts = findings.select("cluster_id", _moment(), F.inline("branch_parts"))
    pieces = pieces_of(held, parts).groupBy(*_PIECE).agg(F.max("moment").alias("moment"))
    joined = pieces.join(
        F.broadcast(_successors(findings)), on=["cluster_id", "leader_epoch"], how="left"
    )
    newer = F.filter("successors", lambda one: one["moment"] > F.col("moment"))
    begun = F.array_min(F.transform(newer, lambda one: one["start_offset"]))
    return joined.withColumn("high", F.least("high", begun)).where(F.col("low") < F.col("high"))


def _successors(findings: DataFrame) -> DataFrame:
    """cluster_id, leader_epoch, and `successors`: for each group that proves a newer epoch, where
    the first such one begins. No record of leader_epoch was committed at that offset or later."""
    proven = F.filter("branch_parts", lambda part: part["commitment"] == "proven")
    end = F.array_max(F.transform(proven, lambda part: part["end"]))
    branches = findings.select("cluster_id", _moment(), end.alias("end"), F.inline("branch"))
    newer = branches.where(F.col("start_offset") < F.col("end"))
    epochs = findings.select("cluster_id", F.inline("epochs"))
    older = epochs.select("cluster_id", F.col("epoch").alias("leader_epoch")).distinct()
    pairs = older.join(F.broadcast(newer), on="cluster_id", how="inner")
    first = (
        pairs.where(F.col("epoch") > F.col("leader_epoch"))
        .groupBy("cluster_id", "leader_epoch", "moment")
        .agg(F.min("start_offset").alias("start_offset"))
    )
    successor = F.struct("moment", "start_offset")
    return first.groupBy("cluster_id", "leader_epoch").agg(
        F.collect_list(successor).alias("successors")
    )


def _judges(findings: DataFrame) -> DataFrame:
    """What the groups of each cluster know of the branch, in one array for each cluster."""
    last_epoch = F.try_element_at("branch", F.lit(-1))["epoch"].alias("last_epoch")
    group = F.struct(_moment(), "branch_start", "branch_end", last_epoch)
    with_branch = findings.where(F.size("branch") > 0)
    return with_branch.groupBy("cluster_id").agg(F.collect_list(group).alias("judges"))


def _is_passed() -> Column:
    """Whether a newer group's branch holds the offset, or will hold another entry there."""

    def passes(judge: Column) -> Column:
        holds = F.col("offset") < judge["branch_end"]
        will_hold_another = judge["last_epoch"] > F.col("leader_epoch")
        return (
            (judge["moment"] > F.col("moment"))
            & (judge["branch_start"] <= F.col("offset"))
            & (holds | will_hold_another)
        )

    return F.exists("judges", passes)


def _moment() -> Column:
    return F.struct("captured_at", "ingest_seq", "capture_group").alias("moment")
