"""Findings about the identity that the members of a round claim: replica.check.membership on the
tables.

A round is what was looked at together, so the rules see what one call of `kraftlake check` sees.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.gold.rules.finding_rows import PLACED, placed
from pipelines.gold.rules.membership import told
from pipelines.silver.control_records import snapshot_voter_sets
from pipelines.silver.held_batches import one_row_per_capture
from pipelines.tables.bronze import REPLICA_KEYS
from replica.model.snapshot_id import BOOTSTRAP_SNAPSHOT

_STATE = ("leader_id", "leader_epoch", "current_voters")


def membership_findings(
    captures: DataFrame, snapshot_records: DataFrame, replica_state: DataFrame, held: DataFrame
) -> DataFrame:
    """PLACED; held: from held_batches, the others bronze's."""
    paths = F.transform("files", lambda file: file["path"]).alias("paths")
    rows = captures.select("ingest_seq", "capture_id", *REPLICA_KEYS, paths)
    sources = one_row_per_capture(captures).select("capture_id", "source")
    rows = rows.join(F.broadcast(sources), on="capture_id", how="inner")
    state = replica_state.select("capture_id", *_STATE)
    rows = rows.join(F.broadcast(state), on="capture_id", how="left")
    initial = _initial_voters(snapshot_records)
    rows = rows.join(F.broadcast(initial), on=list(REPLICA_KEYS), how="left")
    rows = rows.join(_entries(captures, held), on=["ingest_seq", "capture_id"], how="left")
    return rows.groupBy("ingest_seq").applyInArrow(
        _judge, from_arrow_schema(PLACED, prefer_timestamp_ntz=False)
    )


def _initial_voters(snapshot_records: DataFrame) -> DataFrame:
    """REPLICA_KEYS and initial_voters: the voters that a replica's bootstrap snapshot names."""
    named = snapshot_voter_sets(snapshot_records.where(f"end_offset = {BOOTSTRAP_SNAPSHOT.offset}"))
    voters = F.flatten(F.transform("voter_sets", lambda found: found["voters"]))
    return named.groupBy(*REPLICA_KEYS).agg(F.max(voters).alias("initial_voters"))


def _entries(captures: DataFrame, held: DataFrame) -> DataFrame:
    """Of rounds with several clusters: ingest_seq, capture_id, first_offset, and `entries`, the
    batches that hold the first offset of any log of the round."""
    clusters = captures.groupBy("ingest_seq").agg(F.count_distinct("cluster_id").alias("clusters"))
    rounds = clusters.where("clusters > 1").select("ingest_seq")
    members = captures.join(F.broadcast(rounds), on="ingest_seq", how="left_semi")
    members = members.select("ingest_seq", "capture_id")
    few = F.broadcast(members.select("capture_id").distinct())
    mine = held.join(few, on="capture_id", how="left_semi")
    firsts = mine.groupBy("capture_id").agg(F.min("base_offset").alias("first_offset"))
    members = members.join(F.broadcast(firsts), on="capture_id", how="inner")
    offsets = members.select("ingest_seq", F.col("first_offset").alias("offset")).distinct()
    asked = members.join(F.broadcast(offsets), on="ingest_seq", how="inner")
    is_there = F.col("offset").between(F.col("base_offset"), F.col("last_offset"))
    found = mine.join(F.broadcast(asked), on="capture_id", how="inner").where(is_there)
    entry = F.struct("offset", "base_offset", "last_offset", "leader_epoch", "crc", "size_bytes")
    return found.groupBy("ingest_seq", "capture_id", "first_offset").agg(
        F.collect_list(entry).alias("entries")
    )


def _judge(rows: pa.Table) -> pa.Table:
    return placed(told(rows.to_pylist()))
