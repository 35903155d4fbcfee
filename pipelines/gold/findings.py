"""gold.findings: what `kraftlake check` says of the captures, all sources in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.tables.bronze import REPLICA_KEYS
from pipelines.tables.gold import FINDINGS
from replica.check.catalogue import log
from replica.check.directory import describe_refusal
from replica.check.lineage import Parting, judge_conflict, judge_parting
from replica.check.rule import Finding
from replica.history.commitment import Losses
from replica.history.divergence import Relation
from replica.metadata.image import Refusal
from replica.types import ReplicaKey

_WORDED = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster_id", "capture_id", "rule", "severity")),
        ("offset", pa.int64()),
        ("epoch", pa.int32()),
        ("message", pa.string()),
    ]
)
"""A finding that still lacks its file. capture_id: NULL where each capture may hold the record."""

_Row = dict[str, Any]


def findings(
    captures: DataFrame,
    log_batches: DataFrame,
    found: DataFrame,
    judged: DataFrame,
    refused: DataFrame,
    divergence_points: DataFrame,
) -> DataFrame:
    """The table. found: bronze.findings; judged: from judged_snapshots; refused: from
    refused_records; divergence_points: gold's; the others bronze's.

    A record that can't be applied is a finding of each capture that holds it. Divergence is one of
    who would be truncated; a conflict, and a divergence where neither would win, of the first of
    the pair.
    """
    content = judged.select(*REPLICA_KEYS, "capture_id", F.inline("content_findings"))
    located = _located(_refusals(refused).unionByName(_partings(divergence_points)), captures)
    parts = (found, content, _at_batches(located, log_batches))
    rows = [FINDINGS.select(part) for part in parts]
    return rows[0].unionByName(rows[1]).unionByName(rows[2]).dropDuplicates(list(FINDINGS.keys))


def _refusals(refused: DataFrame) -> DataFrame:
    def word(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _worded(_refusal(row) for row in batch.to_pylist())

    return refused.mapInArrow(word, from_arrow_schema(_WORDED, prefer_timestamp_ntz=False))


def _refusal(row: _Row) -> _Row:
    refusal = Refusal(**row["first_refused"])
    message = describe_refusal(refusal, row["refused"])
    place = {"offset": refusal.offset, "epoch": row["leader_epoch"]}
    found = log.UNAPPLIABLE_RECORD.at("", message, **place)
    return _row(row["cluster_id"], None, found)


def _partings(divergence_points: DataFrame) -> DataFrame:
    parted = divergence_points.where(
        F.col("relation").isin(Relation.DIVERGED.value, Relation.CONFLICT.value)
    )
    return parted.groupBy("cluster_id", "capture_group").applyInArrow(
        _judge_group, from_arrow_schema(_WORDED, prefer_timestamp_ntz=False)
    )


def _judge_group(pairs: pa.Table) -> pa.Table:
    rows = sorted(pairs.to_pylist(), key=lambda row: (row["node_a"], row["node_b"]))
    return pa.Table.from_batches(_worded(_of_pairs(rows)), schema=_WORDED)


def _of_pairs(rows: list[_Row]) -> Iterator[_Row]:
    partings: dict[tuple[str, Parting], list[int]] = {}
    for row in rows:
        if row["relation"] == Relation.CONFLICT.value:
            offset, other = row["divergence_offset"], f"node {row['node_b']}"
            found = judge_conflict(offset, row["epoch_a"], other)
            yield _row(row["cluster_id"], row["capture_a"], found)
            continue
        a, b = ("a", "b") if row["truncating_node"] != row["node_b"] else ("b", "a")
        parting = _parting(row, a, b)
        partings.setdefault((row[f"capture_{a}"], parting), []).append(row[f"node_{b}"])
    for (capture_id, parting), others in partings.items():
        for found in judge_parting(parting, others):
            yield _row(rows[0]["cluster_id"], capture_id, found)


def _parting(row: _Row, loser: str, winner: str) -> Parting:
    lost = None
    if row["truncating_node"] is not None:
        names = ("committed_lost", "unproven_lost", "superseded_lost")
        lost = Losses(*(row[name] for name in names))
    return Parting(
        ReplicaKey(row[f"node_{loser}"], row[f"directory_{loser}"]),
        row["divergence_offset"],
        row[f"epoch_{loser}"],
        row[f"epoch_{winner}"],
        row["truncation_offset"],
        row["records_lost"],
        lost,
    )


def _row(cluster_id: str, capture_id: str | None, found: Finding) -> _Row:
    return {
        "cluster_id": cluster_id,
        "capture_id": capture_id,
        "rule": found.rule.id,
        "severity": found.severity.value,
        "offset": found.offset,
        "epoch": found.epoch,
        "message": found.message,
    }


def _worded(rows: Iterable[_Row]) -> list[pa.RecordBatch]:
    return pa.Table.from_pylist(list(rows), schema=_WORDED).to_batches()


def _located(worded: DataFrame, captures: DataFrame) -> DataFrame:
    """Each finding with the captures that it may be of, and where these were."""
    looks = captures.groupBy("cluster_id", "capture_id", "node_id", "directory_id").agg(
        F.min("captured_at").alias("captured_at"),
        F.min_by("source", "ingest_seq").alias("source"),
    )
    looks = looks.withColumnRenamed("capture_id", "of_capture")
    is_of = F.coalesce(F.col("capture_id") == F.col("of_capture"), F.lit(True))
    joined = worded.join(F.broadcast(looks), on="cluster_id", how="inner").where(is_of)
    return joined.withColumn("capture_id", F.col("of_capture")).drop("of_capture")


def _at_batches(located: DataFrame, log_batches: DataFrame) -> DataFrame:
    """With file and byte of the batch that holds the offset in the capture's log."""
    batches = log_batches.select(
        *REPLICA_KEYS,
        *("base_offset", "last_offset", "leader_epoch", "position", "in_log"),
        F.regexp_extract("file", r"[^/]+$", 0).alias("name"),
    )
    is_there = F.col("offset").between(F.col("base_offset"), F.col("last_offset"))
    is_held = F.exists(
        "in_log", lambda span: F.col("captured_at").between(span["from"], span["to"])
    )
    is_epoch = F.col("epoch") == F.col("leader_epoch")
    rows = batches.join(F.broadcast(located), on=list(REPLICA_KEYS), how="inner")
    file = F.concat_ws("/", "source", "name")
    return rows.where(is_there & is_held & is_epoch).withColumn("file", file)
