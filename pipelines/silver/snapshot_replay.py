"""The agreed branch replayed once: every snapshot beside it, and the records it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.silver.replay_parts import BranchSnapshot, Part, RunReplay, replay_in_parts
from replica.check.snapshots import compare_images
from replica.metadata.image import Difference, Image

SAMPLE = 20
"""Differences of one snapshot that are kept with their values."""

_DIFFERENCE = pa.struct(
    [(name, pa.string()) for name in ("entity", "key", "in_snapshot", "in_log")]
)
_REFUSAL = pa.struct(
    [
        ("offset", pa.int64()),
        ("record_type", pa.string()),
        ("reason", pa.string()),
        ("because", pa.list_(pa.int64())),
    ]
)
REPLAYED = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("base_offset", pa.int64()),
        ("end_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("content_sha256", pa.string()),
        ("different", pa.int64()),
        ("orphans", pa.int64()),
        ("sample", pa.list_(_DIFFERENCE)),
        ("refused", pa.int64()),
        ("first_refused", _REFUSAL),
        ("first_unknown", pa.int64()),
    ]
)
"""What one part of a replay says of a snapshot, or, with content_sha256 and epoch NULL, of a run of
the log from base_offset to end_offset (exclusive). refused: records that can't be applied."""

SNAPSHOT_IDS = ("cluster_id", "end_offset", "epoch", "content_sha256")


def replayed(
    branch: DataFrame, snapshots: DataFrame, snapshot_records: DataFrame, buckets: int
) -> DataFrame:
    """REPLAYED: a few rows for each part; to be persisted, as everything below reads it.

    branch: from branch_records; the others bronze's; buckets: parts of a replay.
    """
    return replay_in_parts(branch, snapshots, snapshot_records, buckets, _replayed, REPLAYED)


def snapshot_replay(replayed_parts: DataFrame) -> DataFrame:
    """A row for each snapshot that a replay reaches: SNAPSHOT_IDS, base_offset (where the replay
    began, 0 or the end offset of an older snapshot), different (entities that differ from the
    log's, orphans not counted among them), orphans (see image.orphan_topic_configs), refused
    (records of the snapshot that can't be applied), sample (the first of the different ones).

    Snapshots off the branch, behind a hole of it or below its start have no row; nor have those
    behind a record that nobody here knows.
    """
    keys = ["cluster_id", "base_offset"]
    unknown = replayed_parts.where("content_sha256 IS NULL").groupBy(*keys)
    limits = unknown.agg(F.min("first_unknown").alias("limit"))
    rows = replayed_parts.where("content_sha256 IS NOT NULL").join(limits, on=keys, how="inner")
    known = rows.where("limit IS NULL OR end_offset <= limit")
    return known.groupBy(*SNAPSHOT_IDS).agg(
        F.min("base_offset").alias("base_offset"),
        *(F.sum(name).alias(name) for name in ("different", "orphans", "refused")),
        F.slice(F.array_sort(F.flatten(F.collect_list("sample"))), 1, SAMPLE).alias("sample"),
    )


def refused_records(replayed_parts: DataFrame, committed_log: DataFrame) -> DataFrame:
    """A row for each cluster whose log holds records that can't be applied: cluster_id, refused
    (how many), first_refused (struct: offset, record_type, reason, because), its leader_epoch.

    committed_log: silver's.
    """
    runs = replayed_parts.where("content_sha256 IS NULL AND refused > 0")
    first = F.min_by("first_refused", "first_refused.offset").alias("first_refused")
    found = runs.groupBy("cluster_id").agg(F.sum("refused").alias("refused"), first)
    found = F.broadcast(found.withColumn("offset", F.col("first_refused.offset")))
    epochs = committed_log.select("cluster_id", "offset", "leader_epoch")
    return epochs.join(found, on=["cluster_id", "offset"], how="inner").drop("offset")


def _replayed(part: Part) -> Iterator[dict[str, Any]]:
    for run in part.replays():
        about = {"cluster_id": part.cluster_id, "base_offset": run.base_offset}
        for snapshot in part.snapshots:
            if snapshot.is_on_branch and run.base_offset < snapshot.end_offset <= run.end:
                replay = run.image_at(snapshot.end_offset)
                yield about | _of_snapshot(part, snapshot, replay)
        yield about | _of_run(run)


def _of_snapshot(part: Part, snapshot: BranchSnapshot, replay: Image) -> dict[str, Any]:
    """What this part's keys say; other keys are judged in theirs."""
    held, refused = part.content_of(snapshot)
    orphans, others = (
        [found for found in differing if part.owns(found.kind, found.key)]
        for differing in compare_images(held, replay)
    )
    return {
        "end_offset": snapshot.end_offset,
        "epoch": snapshot.epoch,
        "content_sha256": snapshot.content_sha256,
        "different": len(others),
        "orphans": len(orphans),
        "sample": [_row(found) for found in others[:SAMPLE]],
        "refused": refused,
    }


def _of_run(run: RunReplay) -> dict[str, Any]:
    run.image_at(run.end)
    first = run.first_refused
    return {
        "end_offset": run.end,
        "refused": run.refused_count,
        "first_refused": None if first is None else first._asdict(),
        "first_unknown": run.first_unknown,
    }


def _row(found: Difference) -> dict[str, str | None]:
    return dict(zip((field.name for field in _DIFFERENCE), found, strict=True))
