"""gold.findings: what `kraftlake check` says of the captures, all sources in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.gold.finding_rows import finding_row
from pipelines.silver.held_batches import held_at, one_row_per_capture
from pipelines.tables.bronze import REPLICA_KEYS
from pipelines.tables.gold import FINDINGS
from replica.check.catalogue import log
from replica.check.directory import describe_refusal
from replica.check.lineage import Parting, judge_conflict, judge_contested, judge_parting
from replica.check.rule import Finding
from replica.history.commitment import Losses
from replica.history.divergence import Relation
from replica.history.log import OffsetRange
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
    groups: DataFrame,
    placed: Sequence[DataFrame],
) -> DataFrame:
    """The table. found: bronze.findings; judged: from judged_snapshots; refused: from
    refused_records; groups: from group_findings; placed: PLACED of the other rules between
    directories; the others bronze's.

    A record that can't be applied is a finding of each capture that holds it. Divergence is one of
    who would be truncated; a conflict, and a divergence where neither would win, of the first of
    the pair.
    """
    content = judged.select(*REPLICA_KEYS, "capture_id", F.inline("content_findings"))
    located = _located(_refusals(refused).unionByName(_lineage(groups)), captures)
    parts = (found, content, _at_batches(located, log_batches), *placed)
    rows = reduce(DataFrame.unionByName, (FINDINGS.select(part) for part in parts))
    return rows.dropDuplicates(list(FINDINGS.keys))


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


def _lineage(groups: DataFrame) -> DataFrame:
    def word(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.to_pylist():
                yield from _worded(_of_group(group))

    told = groups.select("cluster_id", "pairs", "contested")
    return told.mapInArrow(word, from_arrow_schema(_WORDED, prefer_timestamp_ntz=False))


def _of_group(group: _Row) -> Iterator[_Row]:
    cluster_id = group["cluster_id"]
    for capture_id, found in _of_pairs(group["pairs"]):
        yield _row(cluster_id, capture_id, found)
    for contested in group["contested"]:
        offsets = OffsetRange(contested["start"], contested["end"])
        found = judge_contested(offsets, contested["epoch"])
        yield _row(cluster_id, contested["capture_id"], found)


def _of_pairs(rows: list[_Row]) -> Iterator[tuple[str, Finding]]:
    """(capture_id, finding) of pairs in the order of their replicas."""
    partings: dict[tuple[str, Parting], list[int]] = {}
    conflicts: dict[tuple[str, int, int], list[int]] = {}
    for row in rows:
        if row["relation"] == Relation.CONFLICT.value:
            place = row["capture_a"], row["conflict_offset"], row["conflict_epoch"]
            conflicts.setdefault(place, []).append(row["node_b"])
        if row["relation"] != Relation.DIVERGED.value:
            continue
        a, b = ("a", "b") if row["truncating_node"] != row["node_b"] else ("b", "a")
        parting = _parting(row, a, b)
        partings.setdefault((row[f"capture_{a}"], parting), []).append(row[f"node_{b}"])
    for (capture_id, offset, epoch), others in conflicts.items():
        yield capture_id, judge_conflict(offset, epoch, others)
    for (capture_id, parting), others in partings.items():
        for found in judge_parting(parting, others):
            yield capture_id, found


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
    row = {"cluster_id": cluster_id, "capture_id": capture_id, **finding_row(found)}
    return {name: row[name] for name in _WORDED.names}


def _worded(rows: Iterable[_Row]) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = pa.Table.from_pylist(list(rows), schema=_WORDED).to_batches()
    return batches


def _located(worded: DataFrame, captures: DataFrame) -> DataFrame:
    """Each finding with the captures that it may be of, and where these were."""
    looks = one_row_per_capture(captures).select(
        *REPLICA_KEYS, F.col("capture_id").alias("of_capture"), "captured_at", "source"
    )
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
    is_held = held_at("captured_at")
    is_epoch = F.col("epoch") == F.col("leader_epoch")
    rows = batches.join(F.broadcast(located), on=list(REPLICA_KEYS), how="inner")
    file = F.concat_ws("/", "source", "name")
    return rows.where(is_there & is_held & is_epoch).withColumn("file", file)
