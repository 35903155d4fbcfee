"""gold.snapshot_validity: the doctor's verdicts, with the replay of the agreed branch beside."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.gold.rules.snapshots import EVIDENCE, FOUND, JUDGED, SHOWN_NAME, UNREADABLE, judged
from pipelines.silver.held_batches import one_row_per_capture
from pipelines.tables.bronze import REPLICA_KEYS, SNAPSHOT_KEYS
from pipelines.tables.gold import SNAPSHOT_VALIDITY
from replica.check.catalogue.log import NOT_KNOWN


def judged_snapshots(
    captures: DataFrame, snapshots: DataFrame, findings: DataFrame, compared: DataFrame
) -> DataFrame:
    """JUDGED. compared: from snapshot_replay, the others bronze's."""
    held = held_snapshots(captures, snapshots)
    ids = {"snapshot_end_offset": "end_offset", "snapshot_epoch": "epoch"}
    told = findings.where("snapshot_end_offset IS NOT NULL").withColumnRenamed("epoch", "found_in")
    fields = (F.col("found_in" if f.name == "epoch" else f.name).alias(f.name) for f in FOUND)
    by_snapshot = told.withColumnsRenamed(ids).groupBy("capture_id", *ids.values())
    told = by_snapshot.agg(F.array_sort(F.collect_list(F.struct(*fields))).alias("told"))
    comparison = F.struct("orphans", "dropped", "different", "refused", "sample").alias(
        "comparison"
    )
    by_content = ["cluster_id", "end_offset", "epoch", "content_sha256"]
    compared = compared.select(*by_content, comparison)
    rows = held.join(told, on=["capture_id", *ids.values()], how="left")
    rows = rows.join(compared, on=by_content, how="left")
    rows = rows.join(F.broadcast(_first_unknown(findings)), on="capture_id", how="left").select(
        *REPLICA_KEYS,
        "end_offset",
        "epoch",
        "capture_id",
        "file",
        "is_whole",
        "told",
        "comparison",
        "first_unknown",
    )
    return rows.mapInArrow(_judge, from_arrow_schema(JUDGED, prefer_timestamp_ntz=False))


def held_snapshots(captures: DataFrame, snapshots: DataFrame) -> DataFrame:
    """A row for each complete snapshot of each capture: SNAPSHOT_KEYS, capture_id, is_whole, and
    `file`, as it was named to ingest; both of bronze."""
    sources = one_row_per_capture(captures).select("capture_id", "source")
    name = F.regexp_extract("file", SHOWN_NAME, 1)
    held = snapshots.withColumn("capture_id", F.explode("captures"))
    held = held.join(F.broadcast(sources), on="capture_id", how="inner")
    file = F.concat_ws("/", "source", name).alias("file")
    return held.select(*SNAPSHOT_KEYS, "capture_id", "is_whole", file)


def unreadable_snapshots(findings: DataFrame) -> DataFrame:
    """capture_id, end_offset, epoch of snapshots with records that nobody here can read; findings:
    bronze's."""
    told = findings.where(F.col("rule").isin(*UNREADABLE) & F.expr("snapshot_epoch IS NOT NULL"))
    ids = {"snapshot_end_offset": "end_offset", "snapshot_epoch": "epoch"}
    return told.select(
        "capture_id", *(F.col(name).alias(new) for name, new in ids.items())
    ).distinct()


def _first_unknown(findings: DataFrame) -> DataFrame:
    """capture_id and first_unknown: the offset of the first record in the log of a capture that
    this release doesn't know; findings: bronze's."""
    in_log = F.col("rule").isin(*NOT_KNOWN) & F.col("snapshot_end_offset").isNull()
    return findings.where(in_log).groupBy("capture_id").agg(F.min("offset").alias("first_unknown"))


def snapshot_validity(verdicts: DataFrame) -> DataFrame:
    """The table, from judged_snapshots."""
    evidence = {
        name: F.transform(name, lambda found: F.struct(*(found[part] for part in EVIDENCE)))
        for name in ("broken_rules", "notes")
    }
    return SNAPSHOT_VALIDITY.select(verdicts.withColumns(evidence))


def _judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [judged(row) for row in batch.to_pylist()]
        yield from pa.Table.from_pylist(rows, schema=JUDGED).to_batches()
