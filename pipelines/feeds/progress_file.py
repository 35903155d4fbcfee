"""Files that are written completely or not at all, and the progress that one of them holds."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.feeds.message import compact
from pipelines.feeds.values import FeedProgress
from replica.errors import BusyError, DataError, UnreadableFileError, UnwritableFileError


class ProgressFile:
    """Progress as one line of JSON. Every method names the file in its errors."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> FeedProgress | None:
        """The progress, None where there is no such file. Raises DataError where the file has other
        content."""
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
        """Writes the progress. It is on disk when this returns."""
        write_whole(self._path, (compact(progress.to_json()),))


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
    where another process holds it. The file stays; without the lock it has no meaning."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise UnwritableFileError(str(path), error.strerror or str(error)) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(
                f"{path}: another kraftlake publish runs with it; end it, or wait for its end"
            ) from error
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
