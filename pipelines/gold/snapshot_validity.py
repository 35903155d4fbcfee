"""gold.snapshot_validity: the doctor's verdicts, with the replay of the agreed branch beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.gold.finding_rows import FINDING, finding_row
from pipelines.silver.held_batches import one_row_per_capture
from pipelines.silver.snapshot_replay import difference_of
from pipelines.tables.bronze import REPLICA_KEYS, SNAPSHOT_KEYS
from pipelines.tables.gold import SNAPSHOT_VALIDITY
from replica.check.catalogue.log import NOT_KNOWN, UNDECODABLE_RECORD
from replica.check.snapshots import (
    Compared,
    is_broken,
    is_newer,
    judge_compared,
    validity_of,
)
from replica.format.snapshot import BOOTSTRAP_ID
from replica.types import OffsetAndEpoch, Severity

_FINDING = pa.struct(FINDING)
JUDGED = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("node_id", pa.int32()),
        ("directory_id", pa.string()),
        ("end_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("capture_id", pa.string()),
        ("verdict", pa.string()),
        *((name, pa.list_(_FINDING)) for name in ("broken_rules", "notes", "content_findings")),
    ]
)
"""A row for each complete snapshot of each capture. content_findings: those of the broken_rules and
notes that the replay adds to bronze.findings."""

_UNREADABLE = {UNDECODABLE_RECORD.id, *NOT_KNOWN}
_EVIDENCE = ("rule", "file", "position", "offset", "message")


def judged_snapshots(
    captures: DataFrame, snapshots: DataFrame, findings: DataFrame, compared: DataFrame
) -> DataFrame:
    """JUDGED. compared: from snapshot_replay, the others bronze's."""
    held = held_snapshots(captures, snapshots)
    ids = {"snapshot_end_offset": "end_offset", "snapshot_epoch": "epoch"}
    told = findings.where("snapshot_end_offset IS NOT NULL").withColumnRenamed("epoch", "found_in")
    fields = (F.col("found_in" if f.name == "epoch" else f.name).alias(f.name) for f in _FINDING)
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
        *(*REPLICA_KEYS, "end_offset", "epoch", "capture_id", "file"),
        *("is_whole", "told", "comparison", "first_unknown"),
    )
    return rows.mapInArrow(_judge, from_arrow_schema(JUDGED, prefer_timestamp_ntz=False))


def held_snapshots(captures: DataFrame, snapshots: DataFrame) -> DataFrame:
    """A row for each complete snapshot of each capture: SNAPSHOT_KEYS, capture_id, is_whole, and
    `file`, as it was named to ingest; both of bronze."""
    sources = one_row_per_capture(captures).select("capture_id", "source")
    # `file` is the last name it was seen by, when it may have been about to go
    name = F.regexp_extract("file", r"((checkpoints/)?[^/]+?)(\.deleted)?$", 1)
    held = snapshots.withColumn("capture_id", F.explode("captures"))
    held = held.join(F.broadcast(sources), on="capture_id", how="inner")
    file = F.concat_ws("/", "source", name).alias("file")
    return held.select(*SNAPSHOT_KEYS, "capture_id", "is_whole", file)


def unreadable_snapshots(findings: DataFrame) -> DataFrame:
    """capture_id, end_offset, epoch of snapshots with records that nobody here can read; findings:
    bronze's."""
    told = findings.where(F.col("rule").isin(*_UNREADABLE) & F.expr("snapshot_epoch IS NOT NULL"))
    ids = {"snapshot_end_offset": "end_offset", "snapshot_epoch": "epoch"}
    return told.select(
        "capture_id", *(F.col(name).alias(new) for name, new in ids.items())
    ).distinct()


def _first_unknown(findings: DataFrame) -> DataFrame:
    """capture_id and first_unknown: the offset of the first record in the log of a capture that
    this release doesn't know; findings: bronze's."""
    in_log = F.col("rule").isin(*NOT_KNOWN) & F.col("snapshot_end_offset").isNull()
    return findings.where(in_log).groupBy("capture_id").agg(F.min("offset").alias("first_unknown"))


def snapshot_validity(judged: DataFrame) -> DataFrame:
    """The table, from judged_snapshots."""
    evidence = {
        name: F.transform(name, lambda found: F.struct(*(found[part] for part in _EVIDENCE)))
        for name in ("broken_rules", "notes")
    }
    return SNAPSHOT_VALIDITY.select(judged.withColumns(evidence))


def _judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [_judged(row) for row in batch.to_pylist()]
        yield from pa.Table.from_pylist(rows, schema=JUDGED).to_batches()


def _judged(row: dict[str, Any]) -> dict[str, Any]:
    told = row["told"] or []
    added = list(_content_findings(row, told))
    found = [*told, *added]
    severities = [(one["rule"], Severity(one["severity"])) for one in found]
    return {
        **{name: row[name] for name in (*REPLICA_KEYS, "end_offset", "epoch", "capture_id")},
        "verdict": validity_of(severities).value,
        "broken_rules": [one for one in found if _is_broken(one)],
        "notes": [one for one in found if not _is_broken(one)],
        "content_findings": added,
    }


def _is_broken(finding: dict[str, Any]) -> bool:
    return is_broken(finding["rule"], Severity(finding["severity"]))


def _content_findings(row: dict[str, Any], told: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    snapshot_id = OffsetAndEpoch(row["end_offset"], row["epoch"])
    if snapshot_id == BOOTSTRAP_ID or not row["is_whole"]:
        return
    comparison = row["comparison"]
    is_readable = not any(one["rule"] in _UNREADABLE for one in told)
    compared = None
    if comparison is not None:
        is_readable = is_readable and not comparison["refused"]
        first = tuple(difference_of(one) for one in comparison["sample"])
        orphans, dropped = comparison["orphans"], comparison["dropped"]
        compared = Compared(orphans, dropped, comparison["different"], first)
    unknown: list[int | None] = [None for one in told if one["rule"] in NOT_KNOWN]
    if row["first_unknown"] is not None:
        unknown.append(row["first_unknown"])
    judged = judge_compared(
        *(row["file"], snapshot_id, compared),
        is_readable=is_readable,
        newer=is_newer(snapshot_id, unknown),
    )
    yield from map(finding_row, judged)
