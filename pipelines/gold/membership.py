"""Findings about who the members of a round claim to be: replica.check.membership on the tables.

A round is what was looked at together, so the rules see what one call of `kraftlake check` sees.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.gold.finding_rows import PLACED, finding_row, placed
from pipelines.silver.control_records import snapshot_voter_sets
from pipelines.silver.held_batches import one_row_per_capture
from pipelines.tables.bronze import REPLICA_KEYS
from replica.check.membership import Member, judge_membership
from replica.format.discovery import DirectoryPath
from replica.format.file_names import METADATA_FOLDER, FileKind, FileName, classify
from replica.format.snapshot import BOOTSTRAP_ID, SnapshotName
from replica.history.log import LogBatch
from replica.types import ReplicaId, ReplicaKey

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
    named = snapshot_voter_sets(snapshot_records.where(f"end_offset = {BOOTSTRAP_ID.offset}"))
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
    return placed(_told(rows.to_pylist()))


def _told(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    members = [(_member(row), row["capture_id"]) for row in rows]
    captures = dict(members)
    for member, found in judge_membership([member for member, _ in members]):
        yield {
            "cluster_id": member.replica.cluster_id,
            "node_id": member.replica.node_id,
            "directory_id": member.replica.directory_id,
            "capture_id": captures[member],
            **finding_row(found),
        }


def _member(row: dict[str, Any]) -> Member:
    bootstrap = _path_of(row, _is_bootstrap_snapshot)
    return Member(
        ReplicaId(*(row[name] for name in REPLICA_KEYS)),
        row["source"],
        _shown(row, _path_of(row, _is_of(FileKind.META_PROPERTIES))),
        _shown(row, _path_of(row, _is_of(FileKind.QUORUM_STATE))),
        _shown(row, bootstrap),
        leader_id=row["leader_id"],
        leader_epoch=row["leader_epoch"],
        current_voters=tuple(row["current_voters"] or ()),
        initial_voters=frozenset(
            ReplicaKey(voter["voter_id"], voter["directory_id"])
            for voter in (row["initial_voters"] or () if bootstrap is not None else ())
        ),
        first_offset=row["first_offset"],
        entries=dict(_batches(row["entries"] or ())),
    )


def _batches(entries: Iterable[dict[str, Any]]) -> Iterator[tuple[int, LogBatch]]:
    for entry in entries:
        digest = entry["crc"], entry["size_bytes"]
        place = entry["base_offset"], entry["last_offset"], entry["leader_epoch"]
        yield entry["offset"], LogBatch(*place, digest)


def _is_of(kind: FileKind) -> Callable[[FileName], bool]:
    return lambda name: name.kind is kind


def _is_bootstrap_snapshot(name: FileName) -> bool:
    return name.snapshot == SnapshotName(BOOTSTRAP_ID)


def _path_of(row: dict[str, Any], is_it: Callable[[FileName], bool]) -> str | None:
    """The capture's file of such a name, relative to the node's log directory."""
    paths: list[str] = row["paths"]
    return next((path for path in paths if is_it(classify(os.path.basename(path)))), None)


def _shown(row: dict[str, Any], path: str | None) -> str:
    """The file as it was named to ingest, the directory where there is none."""
    source: str = row["source"]
    if path is None:
        return source
    folders = (path.partition("/")[0] for path in row["paths"] if "/" in path)
    return DirectoryPath(next(folders, METADATA_FOLDER), source).shown_file(path)
