"""Every snapshot beside the log's replay: do they say the same?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from pipelines.silver.replay_parts import BranchSnapshot, Part, replay_in_parts
from replica.metadata.image import Difference, Image, differences, orphan_topic_configs

SAMPLE = 20
"""Differences of one snapshot that are kept with their values."""

_DIFFERENCE = pa.struct(
    [(name, pa.string()) for name in ("entity", "key", "in_snapshot", "in_log")]
)
COMPARED = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("content_sha256", pa.string()),
        ("base_offset", pa.int64()),
        ("different", pa.int64()),
        ("orphans", pa.int64()),
        ("sample", pa.list_(_DIFFERENCE)),
    ]
)
"""One row for each snapshot that a replay reaches. base_offset: where the replay began, 0 or the
end offset of an older snapshot. different: entities that differ from the log's, orphans not counted
among them; orphans: see image.orphan_topic_configs. sample: the first of the different ones."""


def snapshot_replay(
    branch: DataFrame, snapshots: DataFrame, snapshot_records: DataFrame, buckets: int
) -> DataFrame:
    """COMPARED. branch: from branch_records; the others bronze's; buckets: parts of a replay.

    Snapshots off the branch, behind a hole of it or below its start have no row.
    """
    parts = replay_in_parts(branch, snapshots, snapshot_records, buckets, _compared, COMPARED)
    return parts.groupBy("cluster_id", "content_sha256").agg(
        F.min("base_offset").alias("base_offset"),
        *(F.sum(name).alias(name) for name in ("different", "orphans")),
        F.slice(F.array_sort(F.flatten(F.collect_list("sample"))), 1, SAMPLE).alias("sample"),
    )


def _compared(part: Part) -> Iterator[dict[str, Any]]:
    for run in part.replays():
        for snapshot in part.snapshots:
            if snapshot.is_on_branch and run.base_offset < snapshot.end_offset <= run.end:
                replayed = run.image_at(snapshot.end_offset)
                yield {
                    "cluster_id": part.cluster_id,
                    "content_sha256": snapshot.content_sha256,
                    "base_offset": run.base_offset,
                    **_judged(part, snapshot, replayed),
                }


def _judged(part: Part, snapshot: BranchSnapshot, replayed: Image) -> dict[str, Any]:
    """What this part's keys say; other keys are judged in theirs."""
    held = part.image_of(snapshot)
    mine = [found for found in differences(held, replayed) if part.owns(found.kind, found.key)]
    orphans = set(orphan_topic_configs(held, replayed))
    real = [found for found in mine if found not in orphans]
    return {
        "different": len(real),
        "orphans": len(mine) - len(real),
        "sample": [_row(found) for found in real[:SAMPLE]],
    }


def _row(found: Difference) -> dict[str, str | None]:
    return dict(zip((field.name for field in _DIFFERENCE), found, strict=True))
