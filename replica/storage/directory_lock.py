"""Lets one process at a time use a log directory (Kafka: LogManager.lockLogDirs, util FileLock).

The lock is a POSIX record lock on the whole file `.lock` in each of log.dirs, as Java's FileChannel
takes it. So a running Kafka keeps this process out, and this process keeps Kafka out. The operating
system releases the lock when the process ends in any way. The empty file stays and means nothing.
The lock writes nothing, so it isn't part of the port FileSystem.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress

from replica.errors import UnwritableFileError, UsageError

FILE_NAME = ".lock"
_TAKEN = (errno.EACCES, errno.EAGAIN)

_held: dict[tuple[int, int], DirectoryLock] = {}
"""The locks that this process holds, by device and inode. POSIX lets a process lock a file twice,
and releases the lock when the process closes any of its handles of the file. So a locked file is
never opened again."""


class DirectoryLock:
    """The lock of a directory. This process holds the lock from the construction of this object to
    `close`, or to the end of the process. Child processes don't hold the lock."""

    def __init__(self, log_dir: str) -> None:
        """log_dir: one of log.dirs, which is the folder above the partition's folder. This folder
        must exist.

        Raises UsageError if another process holds the lock, and UnwritableFileError if the file
        can't be locked.
        """
        self._path = f"{log_dir}/{FILE_NAME}"
        self._handle = -1
        self._key = self._made()
        if _held.setdefault(self._key, self) is not self:
            raise UsageError(self._taken("this process"))
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CLOEXEC)
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            if error.errno in _TAKEN:
                raise UsageError(self._taken("another process")) from error
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Release the lock. A second call does nothing."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)
        if _held.get(self._key) is self:
            del _held[self._key]

    def __enter__(self) -> DirectoryLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made(self) -> tuple[int, int]:
        """Device and inode of the lock file. A missing file is created."""
        try:
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            found = os.stat(self._path)
        except OSError as error:
            raise self._unwritable(error) from error
        return found.st_dev, found.st_ino

    def _taken(self, owner: str) -> str:
        return (
            f"{self._path}: {owner} runs a Kafka or kraftlake node on this directory: "
            "stop it, or name another directory in log.dirs"
        )

    def _unwritable(self, error: OSError) -> UnwritableFileError:
        return UnwritableFileError(self._path, error.strerror or str(error))
