"""bronze.findings: each directory judged by the rules of `kraftlake check`, on the workers.

Without a replay: whether a snapshot's content equals its log, and whether every record can be
applied, is told by the replay of the agreed branch in gold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession

from pipelines.capture.looks import Look
from replica.check.catalogue.snapshots import SNAPSHOT_UNVERIFIED
from replica.check.directory import gather, judge_directory, judge_snapshots
from replica.check.examined import LOG_KINDS, Examined
from replica.check.replaying import Replayed
from replica.check.rule import Finding
from replica.format.reading import MAX_LOG_BYTES, read_file
from replica.types import OffsetAndEpoch

Row = dict[str, Any]


def finding_rows(spark: SparkSession, looks: Sequence[Look]) -> list[Row]:
    """Rows of bronze.findings; a task holds the bytes of one directory at a time."""
    if not looks:
        return []
    return spark.sparkContext.parallelize(looks, len(looks)).flatMap(judge_look).collect()


def judge_look(look: Look) -> Iterator[Row]:
    """The rows of one look, from the copies of its logs in the spool."""
    contents = {
        file.path: read_file(look.copy_of(file), MAX_LOG_BYTES)
        for file in look.directory.files
        if file.name.kind in LOG_KINDS
    }
    examined = Examined(look.location, look.directory, contents)
    facts = gather(examined)
    for finding in judge_directory(facts, Replayed()):
        yield _row(look, examined, finding, None)
    for verdict in judge_snapshots(facts, {}):
        for finding in (*verdict.broken, *verdict.notes):
            if finding.rule != SNAPSHOT_UNVERIFIED:  # gold decides it
                yield _row(look, examined, finding, verdict.id)


def _row(look: Look, examined: Examined, finding: Finding, snapshot: OffsetAndEpoch | None) -> Row:
    return {
        "capture_id": look.capture_id,
        "cluster_id": look.replica.cluster_id,
        "node_id": look.replica.node_id,
        "directory_id": look.replica.directory_id,
        "rule": finding.rule.id,
        "severity": finding.severity.value,
        "file": examined.shown_file(finding.file),
        "position": finding.position,
        "offset": finding.offset,
        "epoch": finding.epoch,
        "message": finding.message,
        "snapshot_end_offset": None if snapshot is None else snapshot.offset,
        "snapshot_epoch": None if snapshot is None else snapshot.epoch,
    }
