"""`kraft_replica`: a row for each metadata directory, with what lies in it besides log records.

    spark.read.format("kraft_replica").load("captures/")

A row has the columns of bronze.replica_state; where the log starts and ends; `snapshots`, of which
`voters` are the bytes of KRaftVoters records; and `findings`, what `kraftlake check` finds in the
directory without a replay, as in bronze.findings. A task reads one directory.

Options
    path      a metadata directory, any folder above, or a URI of pyarrow.fs
    replica   CLUSTER:NODE[:DIRECTORY] of directories whose meta.properties doesn't say whose they
              are
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructField, StructType

from pipelines.capture.grouping import parse_replica
from pipelines.capture.remote import remote_files
from pipelines.object_store import is_uri
from pipelines.sources.failures import one_line
from pipelines.sources.kraft_log import OWNER_COLUMNS
from pipelines.sources.owners import folder_of
from pipelines.sources.replica_rows import replica_row
from pipelines.tables.bronze import REPLICA_STATE
from pipelines.tables.contract import data_type
from pipelines.tables.keys import REPLICA_KEYS
from replica.errors import UsageError
from replica.format.discovery import DirectoryPath, discover
from replica.format.file_names import FileKind, classify

_KEYS = ("capture_id", *REPLICA_KEYS)
REPLICA_COLUMNS: Mapping[str, str] = {
    **OWNER_COLUMNS,
    "is_fragment": "boolean",
    "log_start_offset": "bigint",
    "log_end_offset": "bigint",
    "first_offset": "bigint",
    **{one.name: one.type for one in REPLICA_STATE.columns if one.name not in _KEYS},
    "snapshots": "array<struct<file:string,end_offset:bigint,epoch:int,size_bytes:bigint,"
    "state:string,is_whole:boolean,last_contained_log_timestamp:timestamp,record_count:bigint,"
    "voters:array<binary>>>",
    "findings": "array<struct<rule:string,severity:string,file:string,position:bigint,"
    "offset:bigint,epoch:int,message:string,snapshot_end_offset:bigint,snapshot_epoch:int>>",
}
"""Each column's type in Spark's DDL."""
REPLICA_SCHEMA = StructType([StructField(n, data_type(of)) for n, of in REPLICA_COLUMNS.items()])
_MARKS = (FileKind.SEGMENT, FileKind.SNAPSHOT, FileKind.QUORUM_STATE)


@dataclass
class DirectoryPartition(InputPartition):
    """A metadata directory, as an absolute path or a URI."""

    folder: str

    def __hash__(self) -> int:
        return hash(self.folder)


def metadata_directories(path: str) -> list[str]:
    """The metadata directories at or below a path or URI, as absolute paths or URIs. Raises
    UsageError for a single file, and where a local path has none."""
    if is_uri(path):
        files = [file for file in remote_files(path) if classify(file.name).kind in _MARKS]
        if not all(file.relative for file in files):
            raise UsageError(f"{path}: a single file; kraft_replica reads directories")
        return sorted({folder_of(file.uri) for file in files})
    found = discover([path])
    if not all(isinstance(one, DirectoryPath) for one in found):
        raise UsageError(f"{path}: a single file; kraft_replica reads directories")
    return [os.path.abspath(one.path) for one in found]


class KraftReplicaReader(DataSourceReader):
    """Plans a task for each directory."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.path = options.get("path", "")
        if not self.path:
            raise UsageError("kraft_replica needs one path: .load(PATH)")
        self.replica = None
        if "replica" in options:
            self.replica = parse_replica(options["replica"], "option replica=")

    def partitions(self) -> list[InputPartition]:
        with one_line():
            return [DirectoryPartition(folder) for folder in metadata_directories(self.path)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if isinstance(partition, DirectoryPartition):
            with one_line():
                row = replica_row(partition.folder, self.replica)
            kinds = to_arrow_schema(REPLICA_SCHEMA, timezone="UTC")
            yield pa.RecordBatch.from_pylist([row], kinds)


class KraftReplicaDataSource(DataSource):
    """The data source `kraft_replica`; the module's docstring has its options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        with one_line():
            super().__init__(options)  # type: ignore[arg-type]
            self.of_directories = KraftReplicaReader(options)

    @classmethod
    def name(cls) -> str:
        return "kraft_replica"

    def schema(self) -> StructType:
        with one_line():
            if not is_uri(self.of_directories.path):
                metadata_directories(self.of_directories.path)
        return REPLICA_SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return self.of_directories
