"""Changes as files of JSON lines, one for each version that has changes.

DIR/00000000000000000012.jsonl has the changes of version 12, 00000000000000000007.snapshot.jsonl
all rows of version 7. A file is complete or not there, and has the same content whenever it is
written: its name makes sure that it exists once only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipelines.feeds import message
from pipelines.feeds.progress_file import ProgressFile, locked, write_whole
from pipelines.feeds.values import Feed, FeedPosition, FeedProgress, Unit
from pipelines.own_folder import names_in, refuse_foreign_names
from replica.errors import UnwritableFileError, UsageError

_PROGRESS = "progress.json"
_LOCK = ".lock"
_FILE_NAME = re.compile(r"\.?(?:\d{20}(?:\.snapshot)?\.jsonl|progress\.json)(?:\.part)?")


class FileTarget:
    """A folder of the changes of one table. `file_target` makes it."""

    def __init__(self, folder: Path, feed: Feed, table_id: str) -> None:
        self.name = str(folder)
        self._folder = folder
        self._feed = feed
        self._table_id = table_id
        self._progress = ProgressFile(folder / _PROGRESS)

    def progress(self) -> FeedProgress | None:
        return self._progress.read()

    def keep(self, position: FeedPosition) -> None:
        self._progress.write(FeedProgress(self._feed.name, self._table_id, position))

    def publish(self, unit: Unit) -> int:
        lines = (message.value(self._feed, change) for change in unit.changes)
        count = write_whole(self._folder / _file_name(unit.start), lines)
        self.keep(unit.start.following)
        return count


@contextmanager
def file_target(folder: str, feed: Feed, table_id: str) -> Iterator[FileTarget]:
    """The folder, made where it is missing, for one publisher at a time. Raises UsageError, also
    where the folder holds other things and no feed; BusyError; UnwritableFileError."""
    if "://" in folder:
        raise UsageError(f"--to {folder}: expected a folder on a local or mounted file system")
    path = Path(folder)
    if not (path / _PROGRESS).exists():
        refuse_foreign_names(f"--to {folder}", names_in(path), _is_ours, "feed")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFileError(folder, error.strerror or str(error)) from error
    with locked(path / _LOCK):
        yield FileTarget(path, feed, table_id)


def _is_ours(name: str) -> bool:
    """Whether the file is part of a file of an earlier run that ended before it wrote its
    progress."""
    return name == _LOCK or _FILE_NAME.fullmatch(name) is not None


def _file_name(position: FeedPosition) -> str:
    return f"{position.version:020d}{'.snapshot' if position.is_snapshot else ''}.jsonl"
