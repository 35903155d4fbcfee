"""Every leader epoch of a cluster that any file of any replica was ever seen to name."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def known_epochs(log_batches: DataFrame, control: DataFrame, replica_state: DataFrame) -> DataFrame:
    """A row for each (cluster_id, epoch); control: from control_records, the others bronze's.

    start_offset: of the LEADER_CHANGE record, else the lowest that batches or a checkpoint name.
    leader_id, voters, granting_voters, started_at: by that record; NULL where it is gone
    everywhere, but leader_id, which quorum-states may still name. Truncated branches and
    .log.deleted files count: what was seen stays known.
    """
    batches = log_batches.where("crc_valid").select(
        "cluster_id",
        F.col("leader_epoch").alias("epoch"),
        F.col("base_offset").alias("named_offset"),
    )
    changes = control.where(F.col("leader_change").isNotNull())
    changes = changes.select("cluster_id", F.col("leader_epoch").alias("epoch"), "leader_change")
    entries = replica_state.select("cluster_id", F.inline("leader_epochs"))
    entries = entries.withColumnRenamed("start_offset", "named_offset")
    sightings = batches.unionByName(entries).unionByName(changes, allowMissingColumns=True)
    epochs = sightings.groupBy("cluster_id", "epoch").agg(
        F.min("leader_change").alias("leader_change"),
        F.min("named_offset").alias("named_offset"),
    )
    epochs = epochs.join(_stated_leaders(replica_state), on=["cluster_id", "epoch"], how="left")
    return epochs.select(
        "cluster_id",
        "epoch",
        F.coalesce("leader_change.offset", "named_offset").alias("start_offset"),
        F.coalesce("leader_change.leader_id", "stated_leader").alias("leader_id"),
        *(
            F.col(f"leader_change.{name}").alias(name)
            for name in ("voters", "granting_voters", "started_at")
        ),
    )


def _stated_leaders(replica_state: DataFrame) -> DataFrame:
    """cluster_id, epoch, stated_leader: the leader that all quorum-states name which know one for
    the epoch. An epoch has one leader; where two are named, neither counts."""
    named = replica_state.where("leader_id >= 0")
    leaders = named.groupBy("cluster_id", F.col("leader_epoch").alias("epoch")).agg(
        F.min("leader_id").alias("stated_leader"), F.max("leader_id").alias("other")
    )
    return leaders.where("stated_leader = other").drop("other")
