"""Changes as files of JSON lines, one for each version that has changes.

DIR/00000000000000000012.jsonl has the changes of version 12, 00000000000000000007.snapshot.jsonl
all rows of version 7. A file is complete or not there, and has the same content whenever it is
written: its name makes sure that it exists once only. A webhook's progress is such a file, too.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.feeds import message
from pipelines.feeds.values import Feed, FeedPosition, FeedProgress, RowChange
from pipelines.own_folder import hold, names_in, refuse_foreign_names
from replica.errors import (
    DataError,
    UnreadableFileError,
    UnwritableFileError,
    UsageError,
    writing,
)

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

    def publish(self, start: FeedPosition, changes: Iterable[RowChange]) -> int:
        lines = (message.value(self._feed, change) for change in changes)
        count = write_whole(self._folder / _file_name(start), lines)
        self.keep(start.following)
        return count


@contextmanager
def file_target(folder: str, feed: Feed, table_id: str) -> Iterator[FileTarget]:
    """Opens the folder as the target of a feed, for one publisher at a time. A missing folder is
    made.

    Raises UsageError for a folder that can't be used, or that holds other things and no feed;
    BusyError where another process publishes to it; UnwritableFileError where it can't be written.
    """
    if "://" in folder:
        raise UsageError(f"--to {folder}: expected a folder on a local or mounted file system")
    path = Path(folder)
    if not (path / _PROGRESS).exists():
        refuse_foreign_names(f"--to {folder}", names_in(path), _is_ours, "feed")
    with writing(folder):
        path.mkdir(parents=True, exist_ok=True)
    with locked(path / _LOCK):
        yield FileTarget(path, feed, table_id)


def _is_ours(name: str) -> bool:
    """Whether this is a name of a feed's file. A run that ends before it writes its progress leaves
    such files, too."""
    return name == _LOCK or _FILE_NAME.fullmatch(name) is not None


def _file_name(position: FeedPosition) -> str:
    return f"{position.version:020d}{'.snapshot' if position.is_snapshot else ''}.jsonl"


class ProgressFile:
    """Progress as one line of JSON. Every method names the file in its errors."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> FeedProgress | None:
        """The progress, None where there is no such file. Raises DataError where the file has other
        content, UnreadableFileError where it can't be read."""
        try:
            return FeedProgress.from_json(json.loads(self._path.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UnreadableFileError(str(self._path), error.strerror or str(error)) from error
        except (ValueError, RecursionError) as error:
            raise DataError("this is no JSON", path=str(self._path)) from error
        except DataError as error:
            raise error.in_file(str(self._path)) from error

    def write(self, progress: FeedProgress) -> None:
        """Writes the progress. Returns when the progress is on disk."""
        write_whole(self._path, (message.compact(progress.to_json()),))


def write_whole(path: Path, lines: Iterable[bytes]) -> int:
    """Writes a file under another name, and renames it when it is on disk. Returns the number of
    lines.

    Without lines no file is made. Raises UnwritableFileError.
    """
    part = path.with_name(f".{path.name}.part")
    count = 0
    try:
        part.unlink(missing_ok=True)  # a link in its place must not be written through
        with part.open("xb") as file:
            for line in lines:
                file.write(line + b"\n")
                count += 1
            file.flush()
            os.fsync(file.fileno())
        if count:
            part.replace(path)
            _sync_folder(path.parent)
    except OSError as error:
        raise UnwritableFileError(str(path), error.strerror or str(error)) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return count


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a lock file, so that no second process publishes to the same place. Raises BusyError
    where another process holds it. The file isn't deleted afterwards: only the lock on it counts,
    not that it exists."""
    with writing(str(path)):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        hold(handle, f"{path}: another kraftlake publish runs with it; end it, or wait for its end")
        yield
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Syncs the folder, so that a file's new name survives a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
