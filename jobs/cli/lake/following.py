"""`ingest --follow`: repeats an ingest whenever one of the logs has changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence

from pipelines.object_store import is_uri
from pipelines.sources.files import SourceFile, log_files
from pipelines.sources.ranges import size_of_file
from replica.errors import UnreadableFileError

_Mark = tuple[int, ...]
"""The state of a log's file: its size and, where the system gives them, its inode and the time of
the last write."""


def follow(
    paths: Sequence[str], ingest: Callable[[], None], every_s: float, stop: threading.Event
) -> None:
    """Call `ingest` at once, and again whenever a .log file at or below the paths has come, gone or
    changed since the last call began, until `stop` is set.

    every_s: seconds between looks at the files. Raises UsageError or UnreadableFileError from a
    look, and whatever `ingest` raises.
    """
    seen: Mapping[str, _Mark] | None = None
    while not stop.is_set():
        # Taken before the ingest: what is written during it is for the next one.
        now = _marks(paths)
        if now != seen:
            ingest()
            seen = now
        stop.wait(every_s)


def _marks(paths: Sequence[str]) -> Mapping[str, _Mark]:
    found = {file.path: _mark_of(file) for path in paths for file in log_files(path)}
    return {path: mark for path, mark in found.items() if mark is not None}


def _mark_of(file: SourceFile) -> _Mark | None:
    """The mark of a file. None where the file is gone, because Kafka deletes segments behind a
    snapshot."""
    if is_uri(file.path):
        return (size_of_file(file),)
    try:
        status = os.stat(file.path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableFileError(file.shown, error.strerror or str(error)) from error
    return status.st_size, status.st_ino, status.st_mtime_ns
