"""`kraft_log`: record batches and records of log segments as a Spark Python Data Source.

    spark.read.format("kraft_log").option("content", "batches").load("s3://bucket/node-1")

Options
    path          a segment, a metadata directory, any folder above (also of several nodes), or a
                  URI of pyarrow.fs
    files         instead of path: JSON list of [path to read, name for the column `file`], or of
                  [path, name, first byte to read, base offset of the batch there]
    content       records (default) or batches
    replica       CLUSTER:NODE[:DIRECTORY] of files beside which no meta.properties says whose they
                  are
    rangeBytes    bytes for one Spark task, default 32 MiB
    keepSecrets   true leaves SCRAM credentials, tokens and sensitive configs unredacted
    redactKeyFile the file holding the fingerprint key; without it the key is that of the process
                  which called `register`, and for a source that Spark found by itself it is new for
                  each read
    showConfigs   JSON list of the names of configs that Kafka doesn't know and that hold no secret
    keepCrcs      true leaves CRCs of batches with secrets as they are
                  (docs/reference/security-in-detail.md)
    maxBytesPerTrigger, maxFilesPerTrigger   limits of a micro-batch, for spark.readStream

`kraft_snapshot`: the records of snapshots, with the same options, except `content`.

    spark.read.format("kraft_snapshot").load("/var/lib/kafka/__cluster_metadata-0")

end_offset and epoch are those of the file's name, NULL for a file of another name; index counts the
snapshot's records from 0, delimiters included.

Rows of both say whose they are: cluster_id, node_id and directory_id of meta.properties, which are
NULL where there is none, and `directory`, the metadata directory as an absolute path or URI. The
metadata of the column `payload` has the item `redaction`: DataFrames in which this item is equal
show equal secrets as equal fingerprints.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructField, StructType

from pipelines.capture.grouping import parse_replica
from pipelines.capture.remote import file_name
from pipelines.object_store import is_uri
from pipelines.sources import rows
from pipelines.sources.failures import one_line
from pipelines.sources.files import SourceFile, log_files, snapshot_files
from pipelines.sources.owners import with_owners
from pipelines.sources.ranges import DEFAULT_RANGE_BYTES, RangePartition, plan, positive, read_range
from pipelines.tables.contract import data_type
from replica.errors import UnreadableFileError, UsageError
from replica.format.reading import MAX_STATE_BYTES, read_file
from replica.format.snapshot import parse_name
from replica.metadata.redact import Redactor

OWNER_COLUMNS = {
    "cluster_id": "string", "node_id": "int", "directory_id": "string", "directory": "string",
}  # fmt: skip
"""Each column's type in Spark's DDL."""
BATCH_COLUMNS = {
    "file": "string", "position": "bigint", "base_offset": "bigint", "last_offset": "bigint",
    "leader_epoch": "int", "crc": "bigint", "crc_valid": "boolean", "is_control": "boolean",
    "record_count": "int", "size_bytes": "bigint",
    "base_timestamp": "timestamp", "max_timestamp": "timestamp",
}  # fmt: skip
_OF_RECORD = {
    "timestamp": "timestamp", "is_control": "boolean", "record_type": "string",
    "record_version": "int", "payload": "variant", "value": "binary", "error": "string",
}  # fmt: skip
RECORD_COLUMNS = {
    "file": "string", "position": "bigint", "base_offset": "bigint", "leader_epoch": "int",
    "crc": "bigint", "offset": "bigint", **_OF_RECORD,
}  # fmt: skip
"""position: the batch's first byte. error: why a record could not be read; NULL for a record that
was read. A row with an error has record_type UNREADABLE and, in `value`, the batch's bytes."""
SNAPSHOT_COLUMNS = {
    "file": "string", "position": "bigint", "end_offset": "bigint", "epoch": "int",
    "index": "bigint", **_OF_RECORD,
}  # fmt: skip

_OF_BATCH = ("base_offset", "last_offset", "leader_epoch", "crc", "record_count", "size_bytes")
_CONTENTS = {
    "records": {
        "file": "string", "position": "bigint",
        **{name: BATCH_COLUMNS[name] for name in _OF_BATCH},
        "offset": "bigint", **_OF_RECORD,
    },
    "batches": BATCH_COLUMNS,
}  # fmt: skip


class KraftLogReader(DataSourceReader):
    """Plans ranges on the driver; `read` runs on the workers and yields Arrow batches. key: the key
    of fingerprints where no option names one; None for a new key."""

    def __init__(self, options: Mapping[str, str], key: bytes | None = None) -> None:
        self.columns = {**OWNER_COLUMNS, **self.own_columns(options)}
        self.range_bytes = positive(options, "rangeBytes") or DEFAULT_RANGE_BYTES
        self.files = given_files(options)
        self.path = options.get("path", "")
        self.replica = None
        if "replica" in options:
            self.replica = parse_replica(options["replica"], "option replica=")
        self.redactor = redactor_in(options, key or secrets.token_bytes(32))
        self.redaction = _redaction(self.redactor, options)

    def own_columns(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """The columns besides the owner's columns, with their types in Spark's DDL. Raises
        UsageError for an unknown value of `content`."""
        content = options.get("content", "records")
        if content not in _CONTENTS:
            raise UsageError(f"option content={content}: expected one of {', '.join(_CONTENTS)}")
        return _CONTENTS[content]

    def schema(self) -> StructType:
        """The columns. For a wrong local path it raises UnreadableFileError, at the
        time of `load`."""
        if self.files is None and not is_uri(self.path):
            for file in self.source_files():
                if not os.access(file.path, os.R_OK):
                    raise UnreadableFileError(file.shown, "Permission denied")
        told = {"payload": {"redaction": self.redaction}}
        return StructType(
            [
                StructField(name, data_type(kind), metadata=told.get(name))
                for name, kind in self.columns.items()
            ]
        )

    def source_files(self) -> list[SourceFile]:
        return log_files(self.path) if self.files is None else self.files

    def partitions(self) -> list[InputPartition]:
        with one_line():
            return self.ranges(self.source_files())

    def ranges(self, files: list[SourceFile]) -> list[InputPartition]:
        """The parts of these files, each with the file's owner."""
        return [*plan(with_owners(files, self.replica), self.range_bytes)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if isinstance(partition, RangePartition):  # else Spark's placeholder for no partition
            with one_line():
                data = read_range(partition.path, partition.start, partition.end)
                yield from self.rows(data, partition)

    def rows(self, data: bytes, part: RangePartition) -> Iterator[Any]:
        """The Arrow batches of a range."""
        make = rows.records if "offset" in self.columns else rows.batches
        return make(data, part, self.redactor, self.columns)


class KraftLogDataSource(DataSource):
    """The data source `kraft_log`; the module's docstring has its options."""

    reads: ClassVar[type[KraftLogReader]] = KraftLogReader
    key: ClassVar[bytes | None] = None
    """The key of fingerprints; None to make a new key for each read."""

    def __init__(self, options: Mapping[str, str]) -> None:
        with one_line():
            super().__init__(options)  # type: ignore[arg-type]
            self.of_files = self.reads(options, self.key)

    @classmethod
    def name(cls) -> str:
        return "kraft_log"

    def schema(self) -> StructType:
        with one_line():
            return self.of_files.schema()

    def reader(self, schema: Any) -> DataSourceReader:
        return self.of_files

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        from pipelines.sources.streams import LogStreamReader

        with one_line():
            return LogStreamReader(self.options, self.of_files)


def given_files(options: Mapping[str, str]) -> list[SourceFile] | None:
    """The files of the option `files`; None where the source has to search in `path`. Raises
    UsageError where `files` is malformed, or where neither option is given."""
    if "files" in options:
        try:
            return [SourceFile(*file) for file in json.loads(options["files"])]
        except (ValueError, TypeError) as error:
            raise UsageError("option files: expected a JSON list of [path, name]") from error
    if not options.get("path"):
        raise UsageError("kraft_log and kraft_snapshot need one path: .load(PATH)")
    return None


def redactor_in(options: Mapping[str, str], default_key: bytes) -> Redactor | None:
    """The redactor that the options ask for; None where secrets are kept. The driver makes it, so
    that all tasks share its key. Raises UsageError for an empty key file and for malformed options,
    and what read_file raises."""
    if _is_true(options, "keepSecrets"):
        return None
    keeps_crcs = _is_true(options, "keepCrcs")
    shown = _shown_configs(options.get("showConfigs", "[]"))
    if "redactKeyFile" not in options:
        return Redactor(default_key, shown, keeps_crcs=keeps_crcs)
    key = read_file(options["redactKeyFile"], MAX_STATE_BYTES)
    if not key:
        raise UsageError(f"option redactKeyFile={options['redactKeyFile']}: an empty file")
    return Redactor(key, shown, keeps_crcs=keeps_crcs)


def _redaction(redactor: Redactor | None, options: Mapping[str, str]) -> str:
    """A text that is equal for readers whose redactors show equal fingerprints. No secret follows
    from it."""
    if redactor is None:
        return "none"
    shown = sorted(_shown_configs(options.get("showConfigs", "[]")))
    return redactor.fingerprint("names of shown configs", json.dumps(shown).encode())


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


class KraftSnapshotReader(KraftLogReader):
    """Plans ranges as KraftLogReader does. The offsets of a snapshot's records are
    their indexes."""

    def own_columns(self, options: Mapping[str, str]) -> Mapping[str, str]:
        return SNAPSHOT_COLUMNS

    def source_files(self) -> list[SourceFile]:
        return snapshot_files(self.path) if self.files is None else self.files

    def rows(self, data: bytes, part: RangePartition) -> Iterator[Any]:
        name = parse_name(file_name(part.path))
        snapshot_id = (name.id.offset, name.id.epoch) if name else (None, None)
        return rows.snapshot_records(data, part, self.redactor, snapshot_id, self.columns)


class KraftSnapshotDataSource(KraftLogDataSource):
    """The data source `kraft_snapshot`; the module's docstring has its options."""

    reads = KraftSnapshotReader

    @classmethod
    def name(cls) -> str:
        return "kraft_snapshot"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        from pipelines.sources.streams import SnapshotStreamReader

        with one_line():
            return SnapshotStreamReader(self.options, self.of_files)
