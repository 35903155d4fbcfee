"""gold.votes: who voted for whom."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from pipelines.tables.quorum import VOTES
from replica.model.keys import ZERO_UUID

_VOTE = ("cluster_id", "epoch", "voter_id", "candidate_id")


def votes(history: DataFrame, replica_state: DataFrame) -> DataFrame:
    """The table; history: gold.leader_epoch_history, replica_state: bronze's.

    A LEADER_CHANGE names who had granted its vote when the leader took office; votes that came
    later, and those for others, only a quorum-state tells of, while the voter is in that epoch.
    """
    granted = history.where("leader_id IS NOT NULL").select(
        "cluster_id",
        "epoch",
        F.col("leader_id").alias("candidate_id"),
        F.lit("leader_change").alias("source"),
        F.inline("granting_voters"),
    )
    own = replica_state.where("voted_id >= 0").select(
        "cluster_id",
        F.col("leader_epoch").alias("epoch"),
        F.col("voted_id").alias("candidate_id"),
        F.lit("quorum_state").alias("source"),
        F.col("node_id").alias("voter_id"),
        "directory_id",
    )
    told = granted.unionByName(own)
    directory = F.nullif(F.col("directory_id"), F.lit(ZERO_UUID))
    cast = told.groupBy(*_VOTE).agg(
        F.array_sort(F.collect_set(directory)).alias("voter_directory_ids"),
        F.array_sort(F.collect_set("source")).alias("sources"),
    )
    leaders = history.select("cluster_id", "epoch", "leader_id")
    rows = cast.join(F.broadcast(leaders), on=["cluster_id", "epoch"], how="left")
    of_voter = Window.partitionBy("cluster_id", "epoch", "voter_id")
    return VOTES.select(
        rows.withColumns(
            {
                "is_elected": F.col("candidate_id") == F.col("leader_id"),
                "is_double": F.count("candidate_id").over(of_voter) > 1,
            }
        )
    )
