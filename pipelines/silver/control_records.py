"""Raft's own records as columns: LEADER_CHANGE and KRAFT_VOTERS, out of their VARIANT payloads.

Shapes, all sorted by voter so that equal sets are equal values:
leader change  struct<offset:bigint,epoch:int,leader_id:int,voters:LEADER_VOTERS,
               granting_voters:LEADER_VOTERS,started_at:timestamp>
voter set      struct<offset:bigint,epoch:int,voters:VOTERS>
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.tables.bronze import BATCH_KEYS, SNAPSHOT_KEYS

LEADER_CHANGE = "LEADER_CHANGE"
KRAFT_VOTERS = "KRAFT_VOTERS"

_LEADER_VOTERS_JSON = "array<struct<voterId:int,voterDirectoryId:string>>"
_VOTERS_JSON = (
    "array<struct<voterId:int,voterDirectoryId:string,"
    "endpoints:array<struct<name:string,host:string,port:int>>,"
    "kRaftVersionFeature:struct<minSupportedVersion:int,maxSupportedVersion:int>>>"
)


def control_records(log_records: DataFrame) -> DataFrame:
    """The control records of each batch that has any: BATCH_KEYS, leader_change, voter_sets.

    log_records: bronze.log_records. leader_change: NULL without one; voter_sets: an array, one
    element for each KRAFT_VOTERS record of the batch.
    """
    is_leader_change = F.col("record_type") == LEADER_CHANGE
    is_voter_set = F.col("record_type") == KRAFT_VOTERS
    records = log_records.where(F.col("is_control") & (is_leader_change | is_voter_set))
    records = records.withColumns({"epoch": F.col("leader_epoch")})
    return records.groupBy(*BATCH_KEYS).agg(
        F.min(F.when(is_leader_change, _leader_change())).alias("leader_change"),
        F.collect_list(F.when(is_voter_set, _voter_set(F.col("offset")))).alias("voter_sets"),
    )


def snapshot_voter_sets(snapshot_records: DataFrame) -> DataFrame:
    """The voter sets of each snapshot that has any: SNAPSHOT_KEYS, voter_sets.

    snapshot_records: bronze.snapshot_records. Their offset is the snapshot's end offset.
    """
    is_voter_set = F.col("is_control") & (F.col("record_type") == KRAFT_VOTERS)
    records = snapshot_records.where(is_voter_set)
    return records.groupBy(*SNAPSHOT_KEYS).agg(
        F.collect_list(_voter_set(F.col("end_offset"))).alias("voter_sets")
    )


def node_ids_as_voters(ids: Column) -> Column:
    """array<int> -> VOTERS, for sources that know a voter by its node id only."""
    return F.array_sort(F.transform(ids, lambda node: _voter(node)))


def configured_voters_as_voters(voters: Column) -> Column:
    """array<struct<voter_id,host,port>> of controller.quorum.voters -> VOTERS."""

    def endpoints(voter: Column) -> Column:
        unnamed = F.lit(None).cast("string").alias("name")
        return F.array(F.struct(unnamed, voter["host"].alias("host"), voter["port"].alias("port")))

    return F.array_sort(
        F.transform(voters, lambda voter: _voter(voter["voter_id"], endpoints=endpoints(voter)))
    )


def leader_voters_as_voters(voters: Column) -> Column:
    """LEADER_VOTERS -> VOTERS."""
    return F.transform(voters, lambda voter: _voter(voter["voter_id"], voter["directory_id"]))


def _leader_change() -> Column:
    return F.struct(
        F.col("offset"),
        F.col("epoch"),
        F.try_variant_get(F.col("payload"), "$.leaderId", "int").alias("leader_id"),
        _leader_voters("$.voters").alias("voters"),
        _leader_voters("$.grantingVoters").alias("granting_voters"),
        F.col("timestamp").alias("started_at"),
    )


def _leader_voters(path: str) -> Column:
    voters = F.try_variant_get(F.col("payload"), path, _LEADER_VOTERS_JSON)
    return F.array_sort(
        F.transform(
            voters,
            lambda voter: F.struct(
                voter["voterId"].alias("voter_id"),
                voter["voterDirectoryId"].alias("directory_id"),
            ),
        )
    )


def _voter_set(offset: Column) -> Column:
    voters = F.try_variant_get(F.col("payload"), "$.voters", _VOTERS_JSON)
    converted = F.transform(
        voters,
        lambda voter: _voter(
            voter["voterId"],
            voter["voterDirectoryId"],
            voter["endpoints"],
            voter["kRaftVersionFeature"],
        ),
    )
    return F.struct(offset.alias("offset"), F.col("epoch"), F.array_sort(converted).alias("voters"))


def _voter(
    node: Column,
    directory: Column | None = None,
    endpoints: Column | None = None,
    versions: Column | None = None,
) -> Column:
    """An element of VOTERS; what is not given is NULL."""
    nothing = F.lit(None)
    lowest = nothing if versions is None else versions["minSupportedVersion"]
    highest = nothing if versions is None else versions["maxSupportedVersion"]
    no_endpoints = nothing.cast("array<struct<name:string,host:string,port:int>>")
    return F.struct(
        node.alias("voter_id"),
        (nothing if directory is None else directory).cast("string").alias("directory_id"),
        (no_endpoints if endpoints is None else endpoints).alias("endpoints"),
        lowest.cast("int").alias("min_supported_version"),
        highest.cast("int").alias("max_supported_version"),
    )
