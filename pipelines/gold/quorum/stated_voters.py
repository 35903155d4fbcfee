"""The voters that the files of each capture name: one column for each source."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.in_memory.quorum.stated_voters import SOURCES
from pipelines.silver.control_records import (
    configured_voters_as_voters,
    leader_voters_as_voters,
    node_ids_as_voters,
    snapshot_voter_sets,
)
from pipelines.silver.held_batches import one_row_per_capture
from pipelines.tables.bronze import REPLICA_KEYS, SNAPSHOT_KEYS
from replica.model.keys import ZERO_UUID


def stated_voters(
    captures: DataFrame,
    held: DataFrame,
    snapshots: DataFrame,
    snapshot_records: DataFrame,
    replica_state: DataFrame,
) -> DataFrame:
    """A row for each capture_id: REPLICA_KEYS, SOURCES, and `in_force`, the newest one of log and
    snapshot, else quorum-state's; held: from held_batches, the others bronze's.

    All are struct<offset,epoch,voters>, NULL where the source names nobody. An offset is that of
    the record, or the end offset of the snapshot.
    """
    looks = one_row_per_capture(captures).select("capture_id", *REPLICA_KEYS)
    parts = (_in_log(held), _in_snapshots(snapshots, snapshot_records), _in_state(replica_state))
    rows = looks
    for part in parts:
        rows = rows.join(F.broadcast(part), on="capture_id", how="left")
    # LEADER_CHANGE repeats the ids of the voters records, where there are any (KIP-853)
    is_static = F.col("voters_record").isNull() & F.col("snapshot").isNull()
    rows = rows.withColumns(
        {
            "log": F.when(is_static, F.col("leader_change")).otherwise(F.col("voters_record")),
            "meta_properties": _named(None, None, _itself()),
        }
    )
    is_snapshot_newer = F.col("snapshot.offset") > F.coalesce("log.offset", F.lit(-1))
    newest = F.when(is_snapshot_newer, F.col("snapshot")).otherwise(F.col("log"))
    rows = rows.withColumn("in_force", F.coalesce(newest, F.col("quorum_state")))
    return rows.select("capture_id", *REPLICA_KEYS, *SOURCES, "in_force")


def known_directory(directory: Column) -> Column:
    """NULL for the zero UUID, which stands for any directory (VoterSet.isVoter)."""
    return F.nullif(directory, F.lit(ZERO_UUID))


def _in_log(held: DataFrame) -> DataFrame:
    change = F.col("leader_change")
    voters = leader_voters_as_voters(change["voters"])
    control = held.where(change.isNotNull() | (F.size("voter_sets") > 0))
    return control.groupBy("capture_id").agg(
        F.max(F.array_max("voter_sets")).alias("voters_record"),
        F.max(F.when(voters.isNotNull(), _named(change["offset"], change["epoch"], voters))).alias(
            "leader_change"
        ),
    )


def _in_snapshots(snapshots: DataFrame, snapshot_records: DataFrame) -> DataFrame:
    sets = F.broadcast(snapshot_voter_sets(snapshot_records))
    whole = snapshots.where("is_whole").join(sets, on=list(SNAPSHOT_KEYS), how="inner")
    each = whole.select(F.explode("captures").alias("capture_id"), "voter_sets")
    return each.groupBy("capture_id").agg(F.max(F.array_max("voter_sets")).alias("snapshot"))


def _in_state(replica_state: DataFrame) -> DataFrame:
    voters = node_ids_as_voters(F.col("current_voters"))
    configured = configured_voters_as_voters(F.col("configured_voters"))
    has = {name: F.size(name) > 0 for name in ("current_voters", "configured_voters")}
    state = _named(None, F.col("leader_epoch"), voters)
    return replica_state.select(
        "capture_id",
        F.when(has["current_voters"], state).alias("quorum_state"),
        F.when(has["configured_voters"], _named(None, None, configured)).alias("configuration"),
    )


def _itself() -> Column:
    directory = known_directory(F.col("directory_id"))
    return F.transform(
        node_ids_as_voters(F.array("node_id")),
        lambda voter: voter.withField("directory_id", directory),
    )


def _named(offset: Column | None, epoch: Column | None, voters: Column) -> Column:
    nothing = F.lit(None)
    return F.struct(
        (nothing if offset is None else offset).cast("bigint").alias("offset"),
        (nothing if epoch is None else epoch).cast("int").alias("epoch"),
        voters.alias("voters"),
    )
