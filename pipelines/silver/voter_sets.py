"""silver.voter_sets: who was entitled to vote, by every source that says so."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from pipelines.silver.control_records import (
    leader_voters_as_voters,
    node_ids_as_voters,
    snapshot_voter_sets,
)
from pipelines.tables.bronze import REPLICA_KEYS
from pipelines.tables.silver import VOTER_SETS


def voter_sets(
    control: DataFrame, snapshot_records: DataFrame, replica_state: DataFrame
) -> DataFrame:
    """The table; control: from control_records, the others bronze's tables.

    The log's records are those of truncated branches and of .log.deleted files too.
    """
    in_log = control.select(*REPLICA_KEYS, F.inline(_of_batch()))
    in_snapshots = snapshot_voter_sets(snapshot_records).select(
        *REPLICA_KEYS, F.lit("snapshot").alias("source"), F.inline("voter_sets")
    )
    in_state = replica_state.where(F.size("current_voters") > 0).select(
        *REPLICA_KEYS,
        F.lit("quorum_state").alias("source"),
        F.lit(None).cast("bigint").alias("offset"),
        F.col("leader_epoch").alias("epoch"),
        node_ids_as_voters(F.col("current_voters")).alias("voters"),
    )
    named = in_log.unionByName(in_snapshots).unionByName(in_state)
    named = named.where(F.col("voters").isNotNull() & F.col("epoch").isNotNull())
    # The same record lies in several captures' files; where contents differ under one key (only
    # damage or a broken quorum leaves that), max() chooses the same one every time.
    rows = named.groupBy(*REPLICA_KEYS, "source", "offset", "epoch").agg(
        F.max("voters").alias("voters")
    )
    return VOTER_SETS.select(_without_repetitions(rows))


def _of_batch() -> Column:
    """The sets that a batch of control_records names, each with its source."""
    voters_records = F.transform(
        "voter_sets", lambda found: _named("kraft_voters", found, found["voters"])
    )
    change = F.col("leader_change")
    voters = leader_voters_as_voters(change["voters"])
    changes = F.when(change.isNotNull(), F.array(_named("leader_change", change, voters)))
    return F.concat(voters_records, F.coalesce(changes, F.slice(voters_records, 1, 0)))


def _named(source: str, found: Column, voters: Column) -> Column:
    return F.struct(
        F.lit(source).alias("source"),
        found["offset"].alias("offset"),
        found["epoch"].alias("epoch"),
        voters.alias("voters"),
    )


def _without_repetitions(rows: DataFrame) -> DataFrame:
    """Once a voters record names the voters (KIP-853), LEADER_CHANGE only repeats their ids."""
    is_voters_record = F.col("source").isin("kraft_voters", "snapshot")
    up_to_here = Window.partitionBy("cluster_id").orderBy("offset")
    has_voters_record = F.max(is_voters_record).over(up_to_here)
    is_repetition = (F.col("source") == "leader_change") & has_voters_record
    return rows.withColumn("is_repetition", is_repetition).where(~F.col("is_repetition"))
