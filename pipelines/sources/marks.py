"""The states of the logs below some paths, by which a follower sees that a log has changed; and
`follow`, which repeats work after each change, without Spark."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence

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


def follow(
    paths: Sequence[str], work: Callable[[], None], every_s: float, stop: threading.Event
) -> None:
    """Calls `work` at once, and again whenever a .log file at or below the paths has come, gone
    or changed since the last call began, until `stop` is set.

    every_s: the seconds between two checks of the files. A path that can't be read for a while
    counts as changed when it goes and when it is back. Raises whatever `work` raises.
    """
    seen: Mapping[str, Mapping[str, Mark] | None] | None = None
    while not stop.is_set():
        # taken before the work, so that the next call has what is written during this one
        now = {path: marks_while_there(path) for path in paths}
        if now != seen:
            work()
            seen = now
        stop.wait(every_s)


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
