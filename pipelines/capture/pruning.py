"""Removes old captures: the files that their capture.json names, and no others."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from pipelines.capture.destination import CaptureDestination, destination_at
from replica.errors import DataError, UnreadableFileError, UsageError
from replica.format import capture
from replica.format.capture import CaptureInfo


@dataclass(frozen=True, slots=True)
class OldCapture:
    """A capture that is old enough to remove."""

    path: str
    """The folder of the capture."""
    captured_at: datetime
    files: int
    """The number of files that its capture.json names."""
    size_bytes: int
    """The size, in bytes, of the files that capture.json names."""


@contextmanager
def one_at_a_time(folder: str) -> Iterator[None]:
    """Waits until no other `prune` works in the folder, and locks the folder until the block ends:
    two runs of `prune` would remove the same files. A file system without locks for folders, such
    as NFS, gets no lock."""
    with ExitStack() as stack:
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def old_captures(folder: str, before: datetime) -> Iterator[OldCapture]:
    """The captures in the folder that were taken before a moment, oldest first; also the rest of an
    interrupted capture or `remove`. Other files and folders, and links, are skipped. Raises
    UsageError where there is no such folder, UnreadableFileError where it can't be listed."""
    try:
        names = sorted(
            each.name for each in os.scandir(folder) if each.is_dir(follow_symlinks=False)
        )
    except NotADirectoryError:
        raise UsageError(f"{folder}: is no folder with captures") from None
    except FileNotFoundError:
        raise UsageError(f"{folder}: there is no such folder") from None
    except OSError as error:
        raise UnreadableFileError(folder, error.strerror or str(error)) from error
    found = []
    for name in names:
        path = os.path.join(folder, name)
        if not any(os.path.lexists(os.path.join(path, each)) for each in _NAMES):
            continue
        with destination_at(path) as place:
            info = _info(place)
        if info is not None and info.captured_at < before:
            size = sum(file.size_bytes for file in info.files)
            found.append(OldCapture(path, info.captured_at, len(info.files), size))
    yield from sorted(found, key=lambda one: (one.captured_at, one.path))


def remove(old: OldCapture) -> None:
    """Removes a capture. An ingest at the same time takes the capture for an unfinished one. After
    a crash, the next `old_captures` or `remove_rests` finds the rest of the capture. A folder with
    files that the capture doesn't name stays, with these files. Raises UnwritableFileError; where a
    link is in the way, it raises before anything is removed."""
    folder = old.path
    with destination_at(folder) as place:
        info = _info(place)
        if info is None:
            return
        for file in info.files:
            place.refuse_links(file.path)
        place.replace(capture.PART_NAME, capture.encode(info))
        place.delete(capture.FILE_NAME)
        for file in info.files:
            place.delete(file.path)
        _remove_empty_folders_in(folder)
        if os.listdir(folder) == [capture.PART_NAME]:
            with suppress(OSError):
                os.rename(folder, _rest(folder))
                folder = _rest(folder)
        place.delete(capture.PART_NAME)
    with suppress(OSError):  # It has files of others.
        os.rmdir(folder)


def remove_rests(folder: str) -> None:
    """Removes the empty folders that an interrupted `remove` left. Their names show them: an empty
    folder with another name may belong to a capture that has just begun."""
    with suppress(OSError), os.scandir(folder) as found:
        for each in list(found):
            if each.path == _rest(each.path):
                with suppress(OSError):  # A capture.json.part is in it, for `old_captures`.
                    os.rmdir(each.path)


def _rest(folder: str) -> str:
    """The path to which `remove` renames the folder of a capture when only capture.json.part is
    left in it. A path that has this name already stays as it is."""
    parent, name = os.path.split(folder.rstrip("/"))
    is_rest = name.startswith(".") and name.endswith(_REST)
    return os.path.join(parent, name if is_rest else f".{name}{_REST}")


def _remove_empty_folders_in(folder: str) -> None:
    for inner, _, _ in os.walk(folder, topdown=False):
        if inner != folder:
            with suppress(OSError):  # It has files of others.
                os.rmdir(inner)


_REST = ".kraftlake-part"
_NAMES = (capture.FILE_NAME, capture.PART_NAME)


def _info(place: CaptureDestination) -> CaptureInfo | None:
    """The capture.json of a folder. None where it can't be read: such a folder is left alone."""
    for name in _NAMES:
        data = place.read(name)
        if data is not None:
            with suppress(DataError):
                return capture.decode(data)
    return None
