"""The files of a round, and reading what is new of them through the data sources."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.bronze.captured import Captured
from pipelines.redaction import Redaction
from pipelines.sources.files import SourceFile
from replica.format.directory import FoundFile, SegmentFile, SnapshotFile

_OWNER = (
    "file string, capture_id string, cluster_id string, node_id int, directory_id string, "
    "content_sha256 string"
)


def new_segments(captured: Sequence[Captured]) -> Iterator[tuple[Captured, SegmentFile]]:
    """The .log and .log.deleted files that hold a batch which was not known."""
    for one in captured:
        directory = one.look.directory
        for segment in (*directory.segments, *directory.deleted_segments):
            if segment.scan.new_batches:
                yield one, segment


def source_file(one: Captured, segment: SegmentFile) -> SourceFile:
    """What is new of a segment, in its copy."""
    path, shown = one.look.copy_of(segment.file), one.look.shown_file(segment.file)
    start = segment.scan.sparse_until
    if not start:
        return SourceFile(path, shown)
    return SourceFile(path, shown, start, segment.scan.next_offset_of_known)


def snapshots(captured: Sequence[Captured]) -> Iterator[tuple[Captured, SnapshotFile]]:
    """Every snapshot in any state; not bootstrap.checkpoint, which is of no log."""
    for one in captured:
        for snapshot in one.look.directory.snapshots:
            yield one, snapshot


@dataclass(frozen=True)
class SourceReads:
    """The round's files as DataFrames; each row has capture_id and the replica's columns."""

    spark: SparkSession
    redaction: Redaction | None
    captured: Sequence[Captured]

    def batches(self) -> DataFrame:
        """kraft_log's batches, the known ones left out."""
        segments = list(new_segments(self.captured))
        files = [(one, segment.file, source_file(one, segment)) for one, segment in segments]
        return self._read("kraft_log", files, content="batches")

    def snapshot_records(self, new: Sequence[tuple[Captured, SnapshotFile]]) -> DataFrame:
        """kraft_snapshot's records of some snapshots, with content_sha256."""
        files = [
            (
                one,
                found.file,
                SourceFile(one.look.copy_of(found.file), one.look.shown_file(found.file)),
            )
            for one, found in new
        ]
        return self._read("kraft_snapshot", files)

    def _read(
        self,
        source: str,
        files: Sequence[tuple[Captured, FoundFile, SourceFile]],
        **options: str,
    ) -> DataFrame:
        reader = self.spark.read.format(source).options(**options)
        if self.redaction is None:
            reader = reader.option("keepSecrets", "true")
        else:
            shown = json.dumps(sorted(self.redaction.shown_configs))
            reader = reader.option("redactKeyFile", self.redaction.key_file)
            reader = reader.option("showConfigs", shown)
            reader = reader.option("keepCrcs", str(self.redaction.keeps_crcs).lower())
        rows = reader.option("files", json.dumps([astuple(file) for *_, file in files])).load()
        owners = [
            (
                given.shown,
                one.look.capture_id,
                *one.replica_columns.values(),
                one.look.shown_hash(file),
            )
            for one, file, given in files
        ]
        owned = F.broadcast(self.spark.createDataFrame(owners, _OWNER))
        return rows.join(owned, on="file", how="inner")
