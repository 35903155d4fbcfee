"""Opens files of a running node without a lock, only for reading. Special files are refused."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from replica.errors import UnreadableFileError
from replica.format.byte_source import READ_FLAGS, OpenFile, Source
from replica.format.file_names import FileKind, classify

ReadFile = Callable[[str, int], Source]
"""(path, most bytes) -> content. Tests pass functions that change a file between two reads."""

MAX_LOG_BYTES = 2**31
"""The largest segment or snapshot, in bytes. It is Kafka's own limit: a segment's positions are
int32."""
SMALL_BYTES = 8 * 1024 * 1024
"""Files up to this size (bytes) are read into memory."""
MAX_STATE_BYTES = 16 * 1024 * 1024
"""The largest text file or index, in bytes. By default a segment's index has at most 10 MiB."""


class VanishedFileError(UnreadableFileError):
    """The file was listed and is gone; a running node deletes segments and snapshots."""


def open_file(path: str, limit: int) -> OpenFile:
    """A regular file that the user named. The end of its context closes it. Links are followed.

    Raises VanishedFileError if the file is gone, UnreadableFileError if it can't be read, isn't a
    regular file (a pipe would block forever) or has more than `limit` bytes.
    """
    return _open(path, limit, lambda: os.open(path, READ_FLAGS))


def open_own_file(path: str, limit: int) -> OpenFile:
    """A file that was found in a directory. Raises the errors of open_file.

    A symbolic link is followed only to a file of a known kind in the same folder; otherwise this
    raises UnreadableFileError, because a hostile directory could make kraftlake read other files.
    The checked file is the opened file, because the operating system itself refuses a link as the
    last part of the path.
    """
    return _open(path, limit, lambda: _own_handle(path))


def refuse_foreign_link(path: str) -> None:
    """Raises UnreadableFileError if open_own_file would refuse a link, for callers that don't open
    the file themselves."""
    if os.path.islink(path) and os.path.exists(path):
        _own_target(path)


def _own_handle(path: str) -> int:
    try:
        return os.open(path, READ_FLAGS | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno != errno.ELOOP or not os.path.exists(path):
            raise
    try:
        return os.open(_own_target(path), READ_FLAGS | os.O_NOFOLLOW)
    except OSError as error:  # another link has replaced the target meanwhile
        raise UnreadableFileError(path, error.strerror or str(error)) from error


def _own_target(link: str) -> str:
    target, folder = os.path.realpath(link), os.path.realpath(os.path.dirname(link))
    is_known = classify(os.path.basename(target)).kind is not FileKind.OTHER
    if os.path.dirname(target) != folder or not is_known:
        reason = "a symbolic link to no known file of this directory: it is not followed"
        raise UnreadableFileError(link, reason)
    return target


def _open(path: str, limit: int, handle_of: Callable[[], int]) -> OpenFile:
    try:
        handle = handle_of()
    except UnreadableFileError:
        raise
    except FileNotFoundError as error:
        if os.path.islink(path):
            raise UnreadableFileError(path, "a symbolic link to nothing") from error
        raise VanishedFileError(path, "file is gone") from error
    except OSError as error:
        if error.errno == errno.ELOOP and os.path.islink(path) and not os.path.exists(path):
            raise UnreadableFileError(path, "a symbolic link to nothing") from error
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
    """All bytes that a regular file has when it is opened. Raises the errors of open_file."""
    with open_file(path, limit) as file:
        return file.read_all()


def read_own_file(path: str, limit: int) -> bytes:
    """All bytes of a file that was found in a directory. Raises the errors of open_own_file."""
    with open_own_file(path, limit) as file:
        return file.read_all()


def own_source(path: str, limit: int) -> Source:
    """A file that was found in a directory: its bytes if it is small, else the open file. Raises
    the errors of open_own_file."""
    return in_memory_if_small(open_own_file(path, limit))


def in_memory_if_small(file: OpenFile) -> Source:
    """The bytes of a small file, which is closed. A larger file is returned as it is, open."""
    if file.size > SMALL_BYTES:
        return file
    with file:
        return file.read_all()
