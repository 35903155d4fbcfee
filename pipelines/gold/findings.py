"""gold.findings: what `kraftlake check` says of the captures, all sources in one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.gold.rules.lineage import WORDED, of_group, refusal
from pipelines.silver.held_batches import held_at, one_row_per_capture
from pipelines.tables.bronze import REPLICA_KEYS
from pipelines.tables.gold import FINDINGS
from replica.check.rule import Family

_Row = dict[str, Any]


def findings(
    captures: DataFrame,
    log_batches: DataFrame,
    found: DataFrame,
    judged: DataFrame,
    refused: DataFrame,
    groups: DataFrame,
    placed: Sequence[DataFrame],
    of_health: DataFrame,
) -> DataFrame:
    """The table. found: bronze.findings; judged: from judged_snapshots; refused: from
    refused_records; groups: from group_findings; placed: PLACED of the other rules between
    directories; of_health: from health; the others bronze's.

    A record that can't be applied is a finding of each capture that holds it. Divergence is one of
    who would be truncated; a conflict, and a divergence where neither would win, of the first of
    the pair.
    """
    content = judged.select(*REPLICA_KEYS, "capture_id", F.inline("content_findings"))
    located = _located(_refusals(refused).unionByName(_lineage(groups)), captures)
    parts = (found, content, _at_batches(located, log_batches), *placed)
    of_files = {"family": F.lit(Family.FILES.value), "subjects": F.lit(None).cast("string")}
    all_parts = (*(part.withColumns(of_files) for part in parts), of_health)
    rows = reduce(DataFrame.unionByName, (FINDINGS.select(part) for part in all_parts))
    return rows.dropDuplicates(list(FINDINGS.keys))


def _refusals(refused: DataFrame) -> DataFrame:
    def word(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _worded(refusal(row) for row in batch.to_pylist())

    return refused.mapInArrow(word, from_arrow_schema(WORDED, prefer_timestamp_ntz=False))


def _lineage(groups: DataFrame) -> DataFrame:
    def word(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.to_pylist():
                yield from _worded(of_group(group))

    told = groups.select("cluster_id", "pairs", "contested")
    return told.mapInArrow(word, from_arrow_schema(WORDED, prefer_timestamp_ntz=False))


def _worded(rows: Iterable[_Row]) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = pa.Table.from_pylist(list(rows), schema=WORDED).to_batches()
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
    """The findings with file and byte of the batch that holds the offset in the capture's log."""
    batches = log_batches.select(
        *REPLICA_KEYS,
        "base_offset",
        "last_offset",
        "leader_epoch",
        "position",
        "in_log",
        F.regexp_extract("file", r"[^/]+$", 0).alias("name"),
    )
    is_there = F.col("offset").between(F.col("base_offset"), F.col("last_offset"))
    is_held = held_at("captured_at")
    is_epoch = F.col("epoch") == F.col("leader_epoch")
    rows = batches.join(F.broadcast(located), on=list(REPLICA_KEYS), how="inner")
    file = F.concat_ws("/", "source", "name")
    return rows.where(is_there & is_held & is_epoch).withColumn("file", file)
