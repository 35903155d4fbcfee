"""The states of the logs below some paths. By them a follower sees that a log has changed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pipelines.object_store import is_uri
from pipelines.sources.files import SourceFile, log_files
from pipelines.sources.ranges import size_of_file
from replica.errors import KraftlakeError, UnreadableFileError

Mark = tuple[int, ...]
"""The state of a log's file: its size in bytes and, where the system gives them, its inode and the
time of the last write in nanoseconds."""


def marks_of(paths: Sequence[str]) -> Mapping[str, Mark]:
    """The mark of each .log file at or below the paths or URIs, by the file's absolute path or URI.
    Raises UsageError and UnreadableFileError."""
    found = {file.path: _mark_of(file) for path in paths for file in log_files(path)}
    return {path: mark for path, mark in found.items() if mark is not None}


def marks_while_there(path: str) -> Mapping[str, Mark] | None:
    """The result of marks_of for one path. None where nothing can be read there: a follower waits
    for a disk that was unmounted, or for a store that can't be reached."""
    try:
        return marks_of([path])
    except KraftlakeError:
        return None


def _mark_of(file: SourceFile) -> Mark | None:
    """The mark of a file. None where the file is gone, because Kafka deletes segments below a
    snapshot's end."""
    if is_uri(file.path):
        return (size_of_file(file),)
    try:
        status = os.stat(file.path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableFileError(file.shown, error.strerror or str(error)) from error
    return status.st_size, status.st_ino, status.st_mtime_ns
