"""`kraft_log`: record batches and records of log segments as a Spark Python Data Source.

    spark.read.format("kraft_log").option("content", "batches").load("s3://bucket/node-1")

Options
    path          a segment, a metadata directory, any folder above, or a URI of pyarrow.fs
    files         instead of path: JSON list of [path to read, name for the column `file`], or of
                  [path, name, first byte to read, base offset of the batch there]
    content       records (default) or batches
    rangeBytes    bytes for one Spark task, default 32 MiB
    keepSecrets   true leaves SCRAM credentials, tokens and sensitive configs unredacted
    redactKeyFile the file holding the fingerprint key; without it the key is new for each read
    showConfigs   JSON list of the names of configs that Kafka doesn't know and that hold no secret
    keepCrcs      true leaves CRCs of batches with secrets as they are: docs/reference/security.md
    maxBytesPerTrigger, maxFilesPerTrigger   limits of a micro-batch, for spark.readStream

`kraft_snapshot`: the records of snapshots, with the same options, except `content`.

    spark.read.format("kraft_snapshot").load("/var/lib/kafka/__cluster_metadata-0")

end_offset and epoch are those of the file's name, NULL for a file of another name; index counts the
snapshot's records from 0, delimiters included.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from pipelines.capture.remote import file_name
from pipelines.sources import rows
from pipelines.sources.files import SourceFile, log_files, snapshot_files
from pipelines.sources.ranges import DEFAULT_RANGE_BYTES, RangePartition, plan, positive, read_range
from replica.errors import UsageError
from replica.format.reading import MAX_STATE_BYTES, read_file
from replica.format.snapshot import parse_name
from replica.metadata.redact import Redactor

BATCH_COLUMNS = {
    "file": "string", "position": "bigint", "base_offset": "bigint", "last_offset": "bigint",
    "leader_epoch": "int", "crc": "bigint", "crc_valid": "boolean", "is_control": "boolean",
    "record_count": "int", "size_bytes": "bigint",
    "base_timestamp": "timestamp", "max_timestamp": "timestamp",
}  # fmt: skip
"""Each column's type in Spark's DDL."""
_OF_RECORD = {
    "timestamp": "timestamp", "is_control": "boolean", "record_type": "string",
    "record_version": "int", "payload": "variant", "value": "binary", "error": "string",
}  # fmt: skip
RECORD_COLUMNS = {
    "file": "string", "position": "bigint", "base_offset": "bigint", "leader_epoch": "int",
    "crc": "bigint", "offset": "bigint", **_OF_RECORD,
}  # fmt: skip
"""position: the batch's first byte. error: why a record could not be read, NULL where it could. A
row with an error has record_type UNREADABLE and, in `value`, the batch's bytes."""
SNAPSHOT_COLUMNS = {
    "file": "string", "position": "bigint", "end_offset": "bigint", "epoch": "int",
    "index": "bigint", **_OF_RECORD,
}  # fmt: skip

_CONTENTS = {"records": RECORD_COLUMNS, "batches": BATCH_COLUMNS}


class KraftLogDataSource(DataSource):
    """The data source `kraft_log`; the module's docstring has its options."""

    @classmethod
    def name(cls) -> str:
        return "kraft_log"

    def schema(self) -> str:
        return _ddl(_columns(self.options))

    def reader(self, schema: Any) -> DataSourceReader:
        return KraftLogReader(self.options)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        from pipelines.sources.streams import LogStreamReader

        return LogStreamReader(self.options, KraftLogReader(self.options))


class KraftLogReader(DataSourceReader):
    """Plans ranges on the driver; `read` runs on the workers and yields Arrow batches."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.columns = _columns(options)
        self.content = options.get("content", "records")
        self.range_bytes = positive(options, "rangeBytes") or DEFAULT_RANGE_BYTES
        self.files = given_files(options)
        self.path = options.get("path", "")
        self.redactor = redactor_in(options)

    def source_files(self) -> list[SourceFile]:
        return log_files(self.path) if self.files is None else self.files

    def partitions(self) -> list[InputPartition]:
        return [*plan(self.source_files(), self.range_bytes)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if not isinstance(partition, RangePartition):  # Spark's stand-in where nothing was planned
            return
        data = read_range(partition.path, partition.start, partition.end)
        if self.content == "batches":
            yield from rows.batches(data, partition, self.redactor, self.columns)
        else:
            yield from rows.records(data, partition, self.redactor, self.columns)


def _ddl(columns: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())


def _columns(options: Mapping[str, str]) -> Mapping[str, str]:
    content = options.get("content", "records")
    if content not in _CONTENTS:
        raise UsageError(f"option content={content}: expected one of {', '.join(_CONTENTS)}")
    return _CONTENTS[content]


def given_files(options: Mapping[str, str]) -> list[SourceFile] | None:
    """The files of the option `files`; None where the source has to search in `path`."""
    if "files" in options:
        try:
            return [SourceFile(*file) for file in json.loads(options["files"])]
        except (ValueError, TypeError) as error:
            raise UsageError("option files: expected a JSON list of [path, name]") from error
    if not options.get("path"):
        raise UsageError("kraft_log and kraft_snapshot need one path: .load(PATH)")
    return None


def redactor_in(options: Mapping[str, str]) -> Redactor | None:
    """The redactor that the options ask for; None where secrets are kept. The driver makes it, so
    that all tasks share its key."""
    if _is_true(options, "keepSecrets"):
        return None
    keeps_crcs = _is_true(options, "keepCrcs")
    shown = _shown_configs(options.get("showConfigs", "[]"))
    if "redactKeyFile" not in options:
        return Redactor(secrets.token_bytes(32), shown, keeps_crcs=keeps_crcs)
    key = read_file(options["redactKeyFile"], MAX_STATE_BYTES)
    if not key:
        raise UsageError(f"option redactKeyFile={options['redactKeyFile']}: an empty file")
    return Redactor(key, shown, keeps_crcs=keeps_crcs)


def _is_true(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false").lower()
    if text not in ("true", "false"):
        raise UsageError(f"option {name}={text}: expected true or false")
    return text == "true"


def _shown_configs(text: str) -> frozenset[str]:
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError("option showConfigs: expected a JSON list of names")
    return frozenset(names)


class KraftSnapshotDataSource(DataSource):
    """The data source `kraft_snapshot`; the module's docstring has its options."""

    @classmethod
    def name(cls) -> str:
        return "kraft_snapshot"

    def schema(self) -> str:
        return _ddl(SNAPSHOT_COLUMNS)

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
