"""The port to a disk, and the real disk.

The storage uses a disk only through `FileSystem`, so the same code runs on the simulated disk of
replica.simulate.disk, which loses unsynced writes. The rules are POSIX's: bytes are safe after
`File.sync`; names (created, renamed, removed) are safe after `sync_directory`. Paths are strings
with '/' between their parts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Protocol

from replica.errors import UnreadableFileError, reading, writing
from replica.format.byte_source import InMemory, OpenFile
from replica.storage.spare_files import SpareFiles

TEMPORARY_SUFFIX = ".tmp"
_FILE_MODE, _FOLDER_MODE = 0o600, 0o700
"""The modes of new files and folders. A metadata log holds secrets, so only the owner may read the
files."""


class ReadableFile(Protocol):
    """An open file, read at byte positions. Its methods raise UnreadableFileError if reading
    fails."""

    @property
    def path(self) -> str: ...

    def size(self) -> int:
        """The size in bytes."""

    def read(self, position: int, size: int) -> bytes:
        """Up to `size` bytes from byte `position` on; fewer only at the end of the file."""


class File(ReadableFile, Protocol):
    """An open file, read and written at byte positions. Its methods raise UnreadableFileError if
    reading fails, and UnwritableFileError if writing fails."""

    def write(self, position: int, data: bytes) -> None:
        """Write all of `data` at byte `position`. If the file ended below `position`, the gap reads
        as zeros."""

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None:
        """Return when the content and the size of the file are on the disk."""

    def begin_sync(self) -> Callable[[], None]:
        """A function that syncs everything written so far. Another thread may call the function
        while further bytes are written. The file must not be closed or truncated before the
        function returns."""
        return self.sync

    def close(self) -> None:
        """Close without a sync. A second call does nothing."""

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FileSystem(Protocol):
    """The operations on a disk that the storage needs. Methods raise UnreadableFileError if reading
    fails, and UnwritableFileError if writing fails."""

    def open(self, path: str) -> File:
        """An existing file, for reading and writing."""

    def reader(self, path: str, size: int) -> InMemory | OpenFile:
        """The first `size` bytes of an existing file, for a reader in another thread. These bytes
        stay readable after the file is removed."""

    def create(self, path: str) -> File:
        """A new file. An existing file is emptied. Links are not followed."""

    def names(self, folder: str) -> tuple[str, ...]:
        """The names of the files in a folder, sorted, without the folders in it."""

    def rename(self, source: str, target: str) -> None:
        """Rename atomically. An existing `target` is replaced."""

    def remove(self, path: str) -> None: ...

    def link(self, source: str, target: str) -> None:
        """Give a file a second name (a hard link), which may be in another folder. An existing
        `target` stays as it is."""

    def sync_directory(self, folder: str) -> None:
        """Return when the folder's names are on the disk."""

    def make_directory(self, folder: str) -> None:
        """Make a folder durably, with all folders above it. An existing folder stays as it is."""


class LocalDisk(FileSystem):
    """The file system of this machine. spare: open files; one of them is closed when the process
    has no free file descriptor."""

    def __init__(self, spare: SpareFiles | None = None) -> None:
        self._spare = spare or SpareFiles(0)

    def open(self, path: str) -> File:
        with reading(path):
            return _LocalFile(path, self._opened(path, os.O_RDWR | os.O_CLOEXEC))

    def reader(self, path: str, size: int) -> OpenFile:
        with reading(path):
            return OpenFile(path, self._opened(path, os.O_RDONLY | os.O_CLOEXEC), size)

    def create(self, path: str) -> File:
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        with writing(path):
            return _LocalFile(path, self._opened(path, flags))

    def names(self, folder: str) -> tuple[str, ...]:
        with reading(folder), self._spare.open_with(lambda: os.scandir(folder)) as entries:
            return tuple(sorted(entry.name for entry in entries if entry.is_file()))

    def rename(self, source: str, target: str) -> None:
        with writing(target):
            os.replace(source, target)

    def remove(self, path: str) -> None:
        with writing(path):
            os.remove(path)

    def link(self, source: str, target: str) -> None:
        with writing(target), contextlib.suppress(FileExistsError):
            os.link(source, target)

    def sync_directory(self, folder: str) -> None:
        with writing(folder):
            handle = self._opened(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def _opened(self, path: str, flags: int) -> int:
        return self._spare.open_with(lambda: os.open(path, flags, _FILE_MODE))

    def make_directory(self, folder: str) -> None:
        if os.path.isdir(folder):
            return
        above = os.path.dirname(os.path.abspath(folder))
        self.make_directory(above)
        with writing(folder):
            os.makedirs(folder, _FOLDER_MODE, exist_ok=True)
        self.sync_directory(above)


class _LocalFile(File):
    def __init__(self, path: str, handle: int) -> None:
        self._path = path
        self._handle = handle

    @property
    def path(self) -> str:
        return self._path

    def size(self) -> int:
        with reading(self._path):
            return os.fstat(self._handle).st_size

    def read(self, position: int, size: int) -> bytes:
        with reading(self._path):
            data = os.pread(self._handle, size, position)
            while 0 < len(data) < size:
                more = os.pread(self._handle, size - len(data), position + len(data))
                if not more:
                    break
                data += more
            return data

    def write(self, position: int, data: bytes) -> None:
        rest = memoryview(data)
        with writing(self._path):
            while rest:
                written = os.pwrite(self._handle, rest, position)
                rest = rest[written:]
                position += written

    def truncate(self, size: int) -> None:
        with writing(self._path):
            os.ftruncate(self._handle, size)

    def sync(self) -> None:
        with writing(self._path):
            os.fsync(self._handle)

    def close(self) -> None:
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            with writing(self._path):
                os.close(handle)


def read_whole(files: FileSystem, path: str, limit: int) -> bytes:
    """All bytes of a small file. Raises UnreadableFileError if the file has more than `limit`
    bytes."""
    with files.open(path) as file:
        size = file.size()
        if size > limit:
            raise UnreadableFileError(path, f"has {size} bytes, the limit is {limit}")
        return file.read(0, size)


def replace_durably(files: FileSystem, folder: str, name: str, data: bytes) -> None:
    """Durable: replace the content of a small file. After a crash during the call the file has
    either the old content or the new content.

    Kafka: FileQuorumStateStore and CheckpointFile. Unlike Kafka, this function also syncs the
    folder.
    """
    temporary = f"{folder}/{name}{TEMPORARY_SUFFIX}"
    with files.create(temporary) as file:
        file.write(0, data)
        file.sync()
    files.rename(temporary, f"{folder}/{name}")
    files.sync_directory(folder)
