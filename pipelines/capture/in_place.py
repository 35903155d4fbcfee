"""The files that tasks read in their places, without a copy. No process may write to a file between
the capture of it and the last task that reads it.

A stamp shows afterwards whether a process did. The stamp is taken before a file is first read, and
compared after its bytes have been read. So bytes that were read in between are the bytes of the
capture.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from pipelines.capture.spool import FileReader
from pipelines.object_store import is_uri, opened
from replica.errors import UnreadableFileError, reading
from replica.format.byte_source import OpenFile, Source
from replica.format.known_file import Stretch
from replica.format.reading import MAX_LOG_BYTES, in_memory_if_small, open_own_file


class ChangedFileError(UnreadableFileError):
    """The file has changed since it was captured, or can't be read any more."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The facts of a file by which a later reader notices that the file was written or replaced."""

    size_bytes: int
    modified_ns: int | None
    """The time of the last write, in ns since 1970; None where the store doesn't give it."""
    identity: str
    """The device and inode of a local file; the ETag of an object, in a store that has ETags."""

    @staticmethod
    def of(path: str) -> FileStamp:
        """The stamp of the file at a local path or URI. Raises UnreadableFileError."""
        if is_uri(path):
            return _of_object(path)
        with reading(path):
            status = os.stat(path)
        return FileStamp(status.st_size, status.st_mtime_ns, f"{status.st_dev}:{status.st_ino}")

    def check(self, path: str) -> None:
        """Raises ChangedFileError where the file at the path has another stamp, or none."""
        try:
            now = FileStamp.of(path)
        except UnreadableFileError as error:
            raise ChangedFileError(path, error.reason) from error
        if now != self:
            raise ChangedFileError(path, "was written to after it was looked at")


def _of_object(uri: str) -> FileStamp:
    with opened(uri) as (store, path), store.open_input_file(path) as file:
        return FileStamp(file.size(), store.get_file_info(path).mtime_ns, etag_of(file))


def etag_of(file: Any) -> str:
    """The ETag of an open object of pyarrow.fs; "" where the store has none."""
    about = {_text(key).lower(): _text(value) for key, value in (file.metadata() or {}).items()}
    return about.get("etag", "")


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file that tasks read in its place."""

    path: str
    """A local path or a URI."""
    stamp: FileStamp


@dataclass(frozen=True, slots=True)
class InPlace:
    """The files of a capture, by their paths below the node's log directory."""

    files: Mapping[str, PlacedFile]

    def copy_of(self, relative: str) -> str:
        """The path at which the file is read: its own path, because no copy is made."""
        return self.files[relative].path

    def stamp_of(self, relative: str) -> FileStamp | None:
        """The file's stamp from the time of the capture."""
        return self.files[relative].stamp

    def check(self) -> None:
        """Raises ChangedFileError for the first file that was changed, or can't be opened."""
        for file in self.files.values():
            file.stamp.check(file.path)
            if not is_uri(file.path):
                check_opens(file.path)


def check_opens(path: str) -> None:
    """Raises ChangedFileError where the file can't be opened any more."""
    try:
        with open_own_file(path, MAX_LOG_BYTES):
            pass
    except UnreadableFileError as error:
        raise ChangedFileError(path, error.reason) from error


@dataclass(frozen=True)
class InPlaceReader(FileReader):
    """Reads files at their paths, and copies none."""

    stamps: dict[str, FileStamp] = field(default_factory=dict)
    """By path: the stamp of each file that could be opened, taken just before."""

    def __call__(self, path: str, limit: int) -> Source:
        """The file at the path itself, not a copy."""
        file = self._opened(path, limit)
        self.count.read += file.size
        return in_memory_if_small(file)

    def _opened(self, path: str, limit: int) -> OpenFile:
        stamp = FileStamp.of(path) if os.path.exists(path) else None
        file = open_own_file(path, limit)
        if stamp is not None:
            self.stamps.setdefault(path, stamp)
        return file

    def _kept(
        self, relative: str, file: OpenFile, wanted: Iterable[Stretch]
    ) -> AbstractContextManager[OpenFile]:
        return nullcontext(file)

    def files(self, path: str) -> InPlace:
        """The files of the directory at the path that could be opened. Raises ChangedFileError
        where a file was written to after its stamp was taken."""
        for each, stamp in self.stamps.items():
            stamp.check(each)
        node_folder = os.path.dirname(os.path.abspath(path))
        return InPlace(
            {
                os.path.relpath(each, node_folder): PlacedFile(os.path.abspath(each), stamp)
                for each, stamp in self.stamps.items()
            }
        )
