"""The files at the path or URI that a source gets."""

from __future__ import annotations

import os
from dataclasses import dataclass

from pipelines.capture.in_place import FileStamp
from pipelines.capture.remote import file_name, remote_files
from pipelines.object_store import is_uri, shown_uri
from replica.errors import UsageError, reading
from replica.format.discovery import DirectoryPath, discover
from replica.format.file_names import LOG_KINDS, FileKind, classify
from replica.format.reading import refuse_foreign_link
from replica.format.snapshot import DRAFT_FOLDER, SnapshotState
from replica.model.keys import ReplicaId


@dataclass(frozen=True)
class Owner:
    """The directory of files, and the replica that they belong to."""

    directory: str
    """The metadata directory as an absolute path, or as a URI without its secret parts."""
    replica: ReplicaId | None
    """The replica; None where no meta.properties names it."""


@dataclass(frozen=True)
class SourceFile:
    """A file that a source reads."""

    path: str
    """A local path, or a URI."""
    shown: str
    """The file's name in the column `file`."""
    start: int = 0
    """The first byte to read, where a batch begins."""
    next_offset: int | None = None
    """The base offset of the batch at `start`, where `start` is above 0; otherwise None."""
    end: int | None = None
    """The byte to stop at (exclusive); None to read up to the file's end."""
    owner: Owner | None = None
    """The owner of the file; None where the caller doesn't ask for it."""
    stamp: FileStamp | None = None
    """The stamp by which a later read notices that the file was changed. None where no process
    writes to the file, or where the caller doesn't ask for the stamp."""


def log_files(path: str) -> list[SourceFile]:
    """The .log files at or below a path or URI, in offset order within each directory."""
    return _files(path, FileKind.SEGMENT)


def snapshot_files(path: str) -> list[SourceFile]:
    """The complete snapshots at or below a path or URI."""
    return _files(path, FileKind.SNAPSHOT)


def _files(path: str, kind: FileKind) -> list[SourceFile]:
    """The files of a kind at or below a path or URI. A file that the path itself names may have any
    name except a name of the other kind. Raises UsageError for a file that is neither a segment nor
    a snapshot."""
    if is_uri(path):
        found_there = remote_files(path)
        if [file.relative for file in found_there] == [""]:
            _refuse_other(shown_uri(path), kind)
        return [
            SourceFile(file.uri, shown_uri(file.uri))
            for file in found_there
            if not file.relative or _is_wanted(file.name, kind)
        ]
    files: list[SourceFile] = []
    for found in discover([path]):
        if isinstance(found, DirectoryPath):
            files.extend(_in_directory(found, kind))
        elif found.name.kind in LOG_KINDS:
            _refuse_other(found.shown, kind)
            files.append(SourceFile(os.path.abspath(found.path), found.shown))
        else:
            raise UsageError(f"{found.shown}: neither a segment nor a snapshot")
    return files


_FORMATS = {FileKind.SEGMENT: "kraft_log", FileKind.SNAPSHOT: "kraft_snapshot"}


def _refuse_other(shown: str, wanted: FileKind) -> None:
    """Raises UsageError where kraft_log gets a single snapshot, or kraft_snapshot a single segment:
    the other source reads it. wanted: the kind that this source reads."""
    kind = classify(file_name(shown)).kind
    if kind in _FORMATS and kind is not wanted:
        raise UsageError(
            f'{shown}: a {kind.value}, which spark.read.format("{_FORMATS[kind]}") reads, and not '
            f'"{_FORMATS[wanted]}"'
        )


def _in_directory(found: DirectoryPath, kind: FileKind) -> list[SourceFile]:
    folder = os.path.basename(os.path.abspath(found.path))
    names = _names(found.path)
    if kind is FileKind.SNAPSHOT and DRAFT_FOLDER in names:
        drafts = os.path.join(found.path, DRAFT_FOLDER)
        names += [f"{DRAFT_FOLDER}/{name}" for name in _names(drafts)]
    wanted = [name for name in names if _is_wanted(file_name(name), kind)]
    paths = [os.path.abspath(os.path.join(found.path, name)) for name in wanted]
    for path in paths:
        refuse_foreign_link(path)
    return [
        SourceFile(path, found.shown_file(f"{folder}/{name}"))
        for path, name in zip(paths, wanted, strict=True)
    ]


def _is_wanted(name: str, kind: FileKind) -> bool:
    found = classify(name)
    is_part = found.snapshot is not None and found.snapshot.state is not SnapshotState.COMPLETE
    return found.kind is kind and not found.deleted and not is_part


def _names(folder: str) -> list[str]:
    with reading(folder):
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []
