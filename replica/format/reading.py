"""Files of a running node: opened without a lock or a write, special files refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from replica.errors import UnreadableFileError
from replica.format.byte_source import OpenFile
from replica.format.primitives import Buffer

ReadFile = Callable[[str, int], Buffer]
"""(path, most bytes) -> content. A port, so that tests can make a file change between two looks."""

MAX_LOG_BYTES = 2**31
"""Kafka's own limit: a segment's positions are int32."""
MAX_STATE_BYTES = 16 * 1024 * 1024
"""The text files and indexes of a directory; a segment index is 10 MiB at most by default."""


class VanishedFileError(UnreadableFileError):
    """The file was listed and is gone: a running node deletes segments and snapshots."""


def open_file(path: str, limit: int) -> OpenFile:
    """A regular file, to be closed by its context.

    Raises VanishedFileError where it is gone, UnreadableFileError where it can't be read, is
    no regular file (a pipe would block for ever) or holds more than `limit` bytes.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError as error:
        if os.path.islink(path):
            raise UnreadableFileError(path, "a symbolic link to nothing") from error
        raise VanishedFileError(path, "file is gone") from error
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
    try:
        return OpenFile(path, handle, _checked_size(path, os.fstat(handle), limit))
    except BaseException:
        os.close(handle)
        raise


def _checked_size(path: str, status: os.stat_result, limit: int) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableFileError(path, "not a regular file")
    if status.st_size > limit:
        raise UnreadableFileError(path, f"{status.st_size} bytes, the limit is {limit}")
    return status.st_size


def read_file(path: str, limit: int) -> bytes:
    """All bytes of a regular file as of its opening; raises as open_file does."""
    with open_file(path, limit) as file:
        return file.read_all()


def read_sparse(path: str, limit: int) -> Buffer:
    """The same; long runs of zeros take no memory."""
    with open_file(path, limit) as file:
        return file.read_sparse()
