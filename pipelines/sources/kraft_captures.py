"""`kraft_captures`: a row for each metadata directory whose log has changed.

    spark.readStream.format("kraft_captures").load("/captures")

A stream's micro-batch has a row for each directory whose log is new, or has changed, or has gone
since the micro-batch before. A path that can't be read has a row of its own, as of a log that is
gone, and the stream goes on. A read without a stream has a row for each directory. The rows say
that there is something to ingest, and not what: `jobs/follow.py` ingests what they point to.

Columns
    directory   string: a metadata directory, as an absolute path, or as a URI without its secret
                parts
    segments    int: how many segments its log has; 0 where the log is gone
    size_bytes  bigint: the size of these segments
    mark        string: changes whenever a segment comes, goes, or is written

Options
    path        a metadata directory, any folder above, or a URI of pyarrow.fs
    paths       several of them, as a JSON list of strings
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructField, StructType

from pipelines.object_store import is_uri, shown_uri
from pipelines.sources.failures import one_line
from pipelines.sources.marks import Mark, marks_of, marks_while_there
from pipelines.sources.owners import folder_of
from pipelines.tables.contract import data_type
from replica.errors import UsageError

CAPTURES_COLUMNS = {
    "directory": "string",
    "segments": "int",
    "size_bytes": "bigint",
    "mark": "string",
}
"""Each column's type in Spark's DDL (data definition language)."""
CAPTURES_SCHEMA = StructType([StructField(n, data_type(of)) for n, of in CAPTURES_COLUMNS.items()])
State = tuple[int, int, str]
"""The columns about a directory: segments, size_bytes, mark."""
Offset = dict[str, list[Any]]
"""The states by directory, which Spark writes into the checkpoint as JSON."""
_GONE = (0, 0, "")


@dataclass
class ChangedDirectories(InputPartition):
    """The rows of a micro-batch: directories with their states."""

    rows: list[tuple[str, int, int, str]]


def paths_in(options: Mapping[str, str]) -> list[str]:
    """The paths of the options `path` or `paths`. Raises UsageError."""
    if options.get("path"):
        return [options["path"]]
    try:
        paths = json.loads(options.get("paths", "[]"))
    except ValueError:
        paths = None
    if not isinstance(paths, list) or not all(isinstance(one, str) and one for one in paths):
        raise UsageError("kraft_captures: option paths: a JSON list of paths is expected")
    if not paths:
        raise UsageError("kraft_captures needs a path: .load(PATH), or the option paths")
    return paths


def states_of(paths: list[str]) -> dict[str, State]:
    """The state of each directory with a log. Raises UsageError and UnreadableFileError."""
    return _states(marks_of(paths))


def _states(found: Mapping[str, Mark]) -> dict[str, State]:
    files: dict[str, list[tuple[str, Mark]]] = {}
    for file, mark in sorted(found.items()):
        directory = shown_uri(folder_of(file)) if is_uri(file) else folder_of(file)
        files.setdefault(directory, []).append((file, mark))
    return {directory: _state(marks) for directory, marks in files.items()}


def _state(marks: list[tuple[str, Mark]]) -> State:
    mark = hashlib.sha256(json.dumps(marks).encode()).hexdigest()[:16]
    return len(marks), sum(one[0] for _, one in marks), mark


class CapturesReader(DataSourceReader):
    """Reads all directories in one task, for a batch query."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.paths = paths_in(options)

    def partitions(self) -> list[InputPartition]:
        with one_line():
            rows = [(name, *state) for name, state in states_of(self.paths).items()]
        return [ChangedDirectories(rows)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if isinstance(partition, ChangedDirectories):
            yield from partition.rows


class CapturesStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The directories that have changed between two offsets. The reader keeps no state: only the
    stream's checkpoint has its position."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.paths = paths_in(options)
        self.frozen: Offset | None = None

    def initialOffset(self) -> Offset:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self.frozen = self._now()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        return self._now() if self.frozen is None else self.frozen

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        changed = [(name, *state) for name, state in end.items() if start.get(name) != state]
        gone = [(name, *_GONE) for name in start if name not in end]
        return [ChangedDirectories([*changed, *gone])]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        if isinstance(partition, ChangedDirectories):
            yield from partition.rows

    def commit(self, end: Offset) -> None:
        """Does nothing, because the reader keeps no state."""

    def _now(self) -> Offset:
        now: Offset = {}
        for path in self.paths:
            found = marks_while_there(path)
            if found is None:
                now[shown_uri(path) if is_uri(path) else path] = [*_GONE]
            else:
                now |= {name: [*state] for name, state in _states(found).items()}
        return now


class KraftCapturesDataSource(DataSource):
    """The data source `kraft_captures`; the module's docstring has its options."""

    def __init__(self, options: Mapping[str, str]) -> None:
        with one_line():
            super().__init__(options)  # type: ignore[arg-type]
            paths_in(options)

    @classmethod
    def name(cls) -> str:
        return "kraft_captures"

    def schema(self) -> StructType:
        return CAPTURES_SCHEMA

    def reader(self, schema: Any) -> DataSourceReader:
        return CapturesReader(self.options)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:
        return CapturesStreamReader(self.options)
