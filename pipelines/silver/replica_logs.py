"""A capture's whole log as one row: what replica.history compares, packed by Spark's workers."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.silver.control_records import snapshot_voter_sets
from pipelines.tables.bronze import REPLICA_KEYS, SNAPSHOT_KEYS

_VOTERS = "array<struct<voter_id:int,directory_id:string>>"
_VOTER_SETS = f"array<struct<offset:bigint,epoch:int,voters:{_VOTERS}>>"

REPLICA_LOGS = {
    "batches": ("array<struct<base_offset:bigint,last_offset:bigint,epoch:int,digest:bigint>>"),
    "snapshots": "array<struct<end_offset:bigint,epoch:int>>",
    "voter_sets": _VOTER_SETS,
    "leader_changes": _VOTER_SETS,
}
"""The packed columns, each sorted and without duplicates, empty where there is nothing.

batches: in the capture's log; digest: CRC and size in one number. snapshots: ids of whole ones.
voter_sets: of the log, and of the whole snapshots with offset = end offset - 1, as Kafka has it.
leader_changes: LEADER_CHANGE's voters. directory_id is NULL in a static quorum.
"""


def replica_logs(
    captures: DataFrame,
    held: DataFrame,
    snapshots: DataFrame,
    snapshot_records: DataFrame,
    replica_state: DataFrame,
) -> DataFrame:
    """A row for each row of bronze.captures; held: from held_batches, the others bronze's.

    Columns: capture_group, capture_id, REPLICA_KEYS, captured_at, ingest_seq, log_start_offset,
    quorum_epoch (NULL without a quorum-state to read), and REPLICA_LOGS.
    """
    parts = _log_parts(held).unionByName(
        _snapshot_parts(snapshots, snapshot_records), allowMissingColumns=True
    )
    packed = parts.groupBy("capture_id").agg(
        F.array_sort(F.collect_list("batch")).alias("batches"),
        F.array_sort(F.collect_set("snapshot")).alias("snapshots"),
        F.array_sort(F.flatten(F.collect_set("voter_sets"))).alias("voter_sets"),
        F.array_sort(F.collect_set("leader_change")).alias("leader_changes"),
    )
    state = replica_state.select("capture_id", F.col("leader_epoch").alias("quorum_epoch"))
    rows = captures.join(packed, on="capture_id", how="left").join(
        F.broadcast(state), on="capture_id", how="left"
    )
    return rows.select(
        "capture_group",
        "capture_id",
        *REPLICA_KEYS,
        "captured_at",
        "ingest_seq",
        "log_start_offset",
        "quorum_epoch",
        *(
            F.coalesce(F.col(name), F.array()).cast(shape).alias(name)
            for name, shape in REPLICA_LOGS.items()
        ),
    )


def _log_parts(held: DataFrame) -> DataFrame:
    # Both fit: a CRC has 32 bits, and a size, an int32 that is not negative, has 31.
    digest = F.shiftleft("crc", 31).bitwiseOR(F.col("size_bytes"))
    batch = F.struct(
        "base_offset", "last_offset", F.col("leader_epoch").alias("epoch"), digest.alias("digest")
    )
    change = F.col("leader_change")
    return held.select(
        "capture_id",
        batch.alias("batch"),
        F.when(change.isNotNull(), _voters_at(change)).alias("leader_change"),
        F.when(
            F.size("voter_sets") > 0, F.transform("voter_sets", lambda found: _voters_at(found))
        ).alias("voter_sets"),
    )


def _snapshot_parts(snapshots: DataFrame, snapshot_records: DataFrame) -> DataFrame:
    voters = F.broadcast(snapshot_voter_sets(snapshot_records))
    whole = snapshots.where("is_whole").join(voters, on=list(SNAPSHOT_KEYS), how="left")
    return whole.select(
        F.explode("captures").alias("capture_id"),
        F.struct("end_offset", "epoch").alias("snapshot"),
        F.transform(
            "voter_sets", lambda found: _voters_at(found, F.col("end_offset") - F.lit(1))
        ).alias("voter_sets"),
    )


def _voters_at(found: Column, offset: Column | None = None) -> Column:
    """A leader change or voter set of control_records, its voters cut down to keys."""
    keys = F.transform(
        found["voters"],
        lambda voter: F.struct(
            voter["voter_id"].alias("voter_id"), voter["directory_id"].alias("directory_id")
        ),
    )
    return F.struct(
        (found["offset"] if offset is None else offset).alias("offset"),
        found["epoch"].alias("epoch"),
        keys.alias("voters"),
    )
