"""gold.leader_epoch_history: who led when, over all captures of a cluster.

What an epoch was is read wherever any replica kept it. When it ended is a matter of the agreed
branch, which one group alone may not show: a later group may have lost the heads, an earlier one
the end.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.tables.gold import LEADER_EPOCH_HISTORY


def leader_epoch_history(known_epochs: DataFrame, findings: DataFrame) -> DataFrame:
    """The table, from silver.known_epochs and group_findings."""
    epochs = _judged(known_epochs, findings)
    newer = (
        Window.partitionBy("cluster_id").orderBy("epoch").rowsBetween(1, Window.unboundedFollowing)
    )
    start = F.when(F.col("is_on_branch"), F.struct("start_offset", "started_at"))
    following = F.first(start, ignorenulls=True).over(newer)
    rows = epochs.withColumn("following", following).withColumns(
        {
            "end_offset": F.col("following.start_offset"),
            "ended_at": F.col("following.started_at"),
        }
    )
    return LEADER_EPOCH_HISTORY.select(rows)


def _judged(known_epochs: DataFrame, findings: DataFrame) -> DataFrame:
    """Adds to each epoch its commitment, and whether it is on the agreed branch.

    A proven epoch is, a superseded one is not. Of another one the newest group decides whose
    branch reaches it; an epoch below every branch (heads deleted everywhere) has nothing beside it.
    """
    groups = findings.drop("pairs").withColumn(
        "moment", F.struct("captured_at", "ingest_seq", "capture_group")
    )
    seen = known_epochs.join(F.broadcast(groups), on="cluster_id", how="left")
    can_judge = _branch_reaches_epoch()
    facts = [name for name in known_epochs.columns if name not in ("cluster_id", "epoch")]
    judged = seen.groupBy("cluster_id", "epoch").agg(
        F.first(F.struct(*facts)).alias("fact"),
        F.bool_or(_is_proven_here()).alias("is_proven"),
        F.bool_or(_is_superseded_here()).alias("is_superseded"),
        F.max_by(_is_in_branch(), F.when(can_judge, F.col("moment"))).alias("is_in_newest_branch"),
    )
    is_proven = F.coalesce("is_proven", F.lit(False))
    is_superseded = F.coalesce("is_superseded", F.lit(False)) & ~is_proven
    is_taken_on = F.coalesce("is_in_newest_branch", F.lit(True)) & ~is_superseded
    commitment = (
        F.when(is_proven, F.lit("proven"))
        .when(is_superseded, F.lit("superseded"))
        .otherwise(F.lit("unproven"))
    )
    return judged.select(
        "cluster_id",
        "epoch",
        "fact.*",
        commitment.alias("commitment"),
        (is_proven | is_taken_on).alias("is_on_branch"),
    )


def _branch_reaches_epoch() -> Column:
    """Whether the group's branch holds the epoch's first offset, or will hold another one there."""
    last_epoch = F.try_element_at("branch", F.lit(-1))["epoch"]
    is_below_end = F.col("start_offset") < F.col("branch_end")
    is_passed = last_epoch > F.col("epoch")
    return (F.col("branch_start") <= F.col("start_offset")) & (is_below_end | is_passed)


def _is_proven_here() -> Column:
    """An epoch has one leader, so any proven entry of it proves those before."""
    return F.exists(
        "epochs",
        lambda head: (head["epoch"] == F.col("epoch")) & (head["commitment"] == "proven"),
    )


def _is_superseded_here() -> Column:
    """The group holds the head and knows that it lost, or proves another entry at its offset."""
    lost_head = F.exists(
        "epochs",
        lambda head: (
            (head["epoch"] == F.col("epoch"))
            & (head["start_offset"] == F.col("start_offset"))
            & (head["commitment"] == "superseded")
        ),
    )
    is_proven_there = F.exists(
        "branch_parts",
        lambda part: (
            (part["commitment"] == "proven")
            & (part["start"] <= F.col("start_offset"))
            & (F.col("start_offset") < part["end"])
        ),
    )
    return lost_head | (is_proven_there & ~_is_in_branch())


def _is_in_branch() -> Column:
    return F.exists("branch", lambda entry: entry["epoch"] == F.col("epoch"))
