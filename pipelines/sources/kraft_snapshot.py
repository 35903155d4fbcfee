"""`kraft_snapshot`: the records of snapshots as a Spark Python Data Source.

    spark.read.format("kraft_snapshot").load("/var/lib/kafka/__cluster_metadata-0")

Options as kraft_log's, but for `content`. end_offset and epoch are those of the file's name, NULL
for a file of another name; index counts the snapshot's records from 0, delimiters included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from pipelines.capture.remote import file_name
from pipelines.sources import rows
from pipelines.sources.files import SourceFile, snapshot_files
from pipelines.sources.kraft_log import RECORD_COLUMNS, KraftLogReader
from pipelines.sources.ranges import RangePartition, read_range
from replica.format.snapshot import parse_name

SNAPSHOT_COLUMNS = (
    ("file", "string"),
    ("position", "bigint"),
    ("end_offset", "bigint"),
    ("epoch", "int"),
    ("index", "bigint"),
    *RECORD_COLUMNS[6:],
)


class KraftSnapshotDataSource(DataSource):
    """The data source `kraft_snapshot`; the module's docstring has its options."""

    @classmethod
    def name(cls) -> str:
        return "kraft_snapshot"

    def schema(self) -> str:
        return ", ".join(f"`{name}` {kind}" for name, kind in SNAPSHOT_COLUMNS)

    def reader(self, schema: Any) -> DataSourceReader:
        return KraftSnapshotReader(self.options)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        from pipelines.sources.streams import SnapshotStreamReader

        return SnapshotStreamReader(self.options, KraftSnapshotReader(self.options))


class KraftSnapshotReader(KraftLogReader):
    """Plans ranges as the reader of logs does. The offsets of a snapshot's records are their
    indexes."""

    def source_files(self) -> list[SourceFile]:
        return snapshot_files(self.path) if self.files is None else self.files

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if not isinstance(partition, RangePartition):
            return
        name = parse_name(file_name(partition.path))
        snapshot_id = (name.id.offset, name.id.epoch) if name else (None, None)
        data = read_range(partition.path, partition.start, partition.end)
        yield from rows.snapshot_records(
            data, partition, self.redactor, snapshot_id, SNAPSHOT_COLUMNS
        )
