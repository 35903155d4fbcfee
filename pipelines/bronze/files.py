"""The files of a round, and reading them through the data sources with their replica beside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.bronze.captured import Captured
from replica.format.directory import FoundFile, SnapshotFile

_OWNER = (
    "file string, capture_id string, cluster_id string, node_id int, directory_id string, "
    "content_sha256 string"
)


def segment_files(captured: Sequence[Captured]) -> Iterator[tuple[Captured, FoundFile]]:
    """The .log and .log.deleted files that hold anything."""
    for one in captured:
        directory = one.look.directory
        for segment in (*directory.segments, *directory.deleted_segments):
            if segment.scan.batches:
                yield one, segment.file


def snapshots(captured: Sequence[Captured]) -> Iterator[tuple[Captured, SnapshotFile]]:
    """Every snapshot in any state; not bootstrap.checkpoint, which is of no log."""
    for one in captured:
        for snapshot in one.look.directory.snapshots:
            yield one, snapshot


@dataclass(frozen=True)
class SourceReads:
    """The round's files as DataFrames; each row has capture_id and the replica's columns."""

    spark: SparkSession
    key_file: str | None
    captured: Sequence[Captured]

    def batches(self) -> DataFrame:
        """kraft_log's batches."""
        return self._read("kraft_log", list(segment_files(self.captured)), content="batches")

    def records(self) -> DataFrame:
        """kraft_log's records."""
        return self._read("kraft_log", list(segment_files(self.captured)), content="records")

    def snapshot_records(self) -> DataFrame:
        """kraft_snapshot's records, with content_sha256."""
        files = [(one, found.file) for one, found in snapshots(self.captured)]
        return self._read("kraft_snapshot", files)

    def _read(
        self, source: str, files: Sequence[tuple[Captured, FoundFile]], **options: str
    ) -> DataFrame:
        reader = self.spark.read.format(source).options(**options)
        if self.key_file is None:
            reader = reader.option("keepSecrets", "true")
        else:
            reader = reader.option("redactKeyFile", self.key_file)
        named = [(one.look.copy_of(file), one.look.shown_file(file)) for one, file in files]
        rows = reader.option("files", json.dumps(named)).load()
        owners = [
            (
                one.look.shown_file(file),
                one.look.capture_id,
                *one.replica_columns.values(),
                file.sha256,
            )
            for one, file in files
        ]
        owned = F.broadcast(self.spark.createDataFrame(owners, _OWNER))
        return rows.join(owned, on="file", how="inner")
