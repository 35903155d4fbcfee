"""Which bytes each Spark task reads: ranges of whole batches, planned on the driver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

from pipelines.capture.remote import is_uri
from replica.errors import UnreadableFileError, UsageError
from replica.format.directory import SnapshotFile, read_directory
from replica.format.discovery import DirectoryPath, FilePath, discover
from replica.format.file_names import FileKind, classify
from replica.format.reading import MAX_LOG_BYTES, read_file
from replica.format.segment import scan
from replica.format.snapshot import SnapshotState

DEFAULT_RANGE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class SourceFile:
    """path: where to read it, a local path or a URI; shown: its name in the column `file`."""

    path: str
    shown: str


@dataclass
class RangePartition(InputPartition):
    """Bytes [start, end) of a file: whole batches, or damage whose extent the planner found.

    expected_offset: base offset of the first batch if the log is sound; None where any will do.
    """

    path: str
    shown: str
    start: int
    end: int
    expected_offset: int | None

    def __hash__(self) -> int:
        return hash((self.path, self.start, self.end))


def plan(files: list[SourceFile], range_bytes: int) -> list[RangePartition]:
    """Ranges of about `range_bytes`, in the order of the files. Reads every file once."""
    return [part for file in files for part in _plan_file(file, range_bytes)]


def _plan_file(file: SourceFile, range_bytes: int) -> Iterator[RangePartition]:
    data = read_range(file.path, 0, None)
    name = classify(os.path.basename(file.path))
    expected = 0 if name.kind is FileKind.SNAPSHOT else name.base_offset
    found = scan(data, expected_offset=expected)
    start, start_offset = 0, expected
    next_offset = expected
    for batch in found.batches:
        if batch.position - start >= range_bytes and next_offset is not None:
            yield RangePartition(file.path, file.shown, start, batch.position, start_offset)
            start, start_offset = batch.position, next_offset
        next_offset = batch.header.next_offset
    if start < found.end_position:
        yield RangePartition(file.path, file.shown, start, found.end_position, start_offset)


def read_range(path: str, start: int, end: int | None) -> bytes:
    """Bytes [start, end) of a local file or URI; to its end where `end` is None.

    Raises UnreadableFileError.
    """
    if not is_uri(path):
        if start == 0 and end is None:
            return read_file(path, MAX_LOG_BYTES)
        with open(path, "rb") as file:
            file.seek(start)
            return file.read(-1 if end is None else end - start)
    from pyarrow import fs  # needed for URIs only

    try:
        store, inside = fs.FileSystem.from_uri(path)
        with store.open_input_file(inside) as file:
            size = file.size() if end is None else end
            return bytes(file.read_at(size - start, start))
    except (OSError, ValueError) as error:
        raise UnreadableFileError(path, str(error).strip().split("\n", 1)[0]) from error


def log_files(path: str) -> list[SourceFile]:
    """The .log files at or below a path or URI, in offset order within each directory."""
    if is_uri(path):
        return _below_uri(path, FileKind.SEGMENT, ".log")
    files: list[SourceFile] = []
    for found in discover([path]):
        if isinstance(found, FilePath):
            files.append(SourceFile(os.path.abspath(found.path), found.shown))
            continue
        for segment in read_directory(found.path).segments:
            files.append(_local(found, segment.file.path))
    return files


def snapshot_files(path: str) -> list[SourceFile]:
    """The complete snapshots at or below a path or URI."""
    if is_uri(path):
        return _below_uri(path, FileKind.SNAPSHOT, ".checkpoint")
    files: list[SourceFile] = []
    for found in discover([path]):
        if isinstance(found, FilePath):
            files.append(SourceFile(os.path.abspath(found.path), found.shown))
            continue
        for snapshot in filter(_is_complete, read_directory(found.path).snapshots):
            files.append(_local(found, snapshot.file.path))
    return files


def _is_complete(snapshot: SnapshotFile) -> bool:
    return snapshot.state is SnapshotState.COMPLETE


def _local(found: DirectoryPath, relative: str) -> SourceFile:
    node_folder = os.path.dirname(os.path.abspath(found.path))
    return SourceFile(os.path.join(node_folder, relative), found.shown_file(relative))


def _below_uri(uri: str, kind: FileKind, suffix: str) -> list[SourceFile]:
    from pyarrow import ArrowInvalid, fs  # needed for URIs only

    try:
        store, root = fs.FileSystem.from_uri(uri)
        info = store.get_file_info(root)
        if info.type == fs.FileType.File:
            return [SourceFile(uri, uri)]
        entries = store.get_file_info(fs.FileSelector(root, recursive=True))
    except ArrowInvalid as error:
        raise UsageError(f"{uri}: {error}") from error
    except OSError as error:
        raise UnreadableFileError(uri, str(error).strip().split("\n", 1)[0]) from error
    base = uri.rstrip("/")
    files = []
    for entry in sorted(entries, key=lambda entry: entry.path):
        name = os.path.basename(entry.path)
        is_wanted = classify(name).kind is kind and name.endswith(suffix)
        if entry.type == fs.FileType.File and is_wanted:
            relative = os.path.relpath(entry.path, root)
            files.append(SourceFile(f"{base}/{relative}", f"{base}/{relative}"))
    return files
