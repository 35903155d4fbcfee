"""Reads bytes by their positions, from a buffer in memory or a file that is mostly not in memory.

A running node may truncate a file or append to it meanwhile. `size` is the size when the file was
opened: bytes that are appended later are not read, and a truncation lowers `size`.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Iterator
from os import preadv
from typing import Protocol, TypeAlias

from replica.errors import UnreadableFileError
from replica.message.primitives import Buffer

BLOCK_BYTES = 1024 * 1024
"""The number of bytes that are read at a time from a whole file."""
_ZEROS = bytes(BLOCK_BYTES)
READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class ShrankError(Exception):
    """The file ends before the requested bytes. The source's `size` is now the new end."""


class ByteSource(Protocol):
    """A source of bytes for a walk over frames."""

    @property
    def size(self) -> int:
        """The number of bytes. It may fall, but never rises."""

    def read(self, position: int, size: int) -> Buffer:
        """Exactly `size` bytes from `position` on, within the source's size. Raises ShrankError if
        the source has become shorter."""


class InMemory:
    """A buffer that must not change while it is read.

    If another process truncates a memory-mapped file, the operating system kills this process. So
    map only files that nobody writes.
    """

    def __init__(self, data: Buffer | mmap.mmap) -> None:
        self.view = memoryview(data).cast("B").toreadonly()
        self.size = len(self.view)

    def read(self, position: int, size: int) -> memoryview:
        """A view of `size` bytes from `position` on, not a copy."""
        return self.view[position : position + size]

    def part(self, begin: int) -> InMemory:
        """The bytes from `begin` on."""
        return InMemory(self.view[begin:])


class OpenFile:
    """A regular file, open for reading (see reading.open_file). It closes at the end of its
    context, or when nothing refers to the file or a part of it.

    Methods raise UnreadableFileError if the operating system fails to read.
    """

    def __init__(self, path: str, handle: int, size: int) -> None:
        self.path = path
        self.size = size
        self._handle = _Handle(path, handle)
        self._begin = 0

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        self._handle.close()

    def close_between_reads(self) -> None:
        """Open the file again for each later read, for a process with many files. If its name then
        belongs to another file or to none, this file is empty."""
        self._handle.close_between_reads()

    def part(self, begin: int, size: int | None = None) -> OpenFile:
        """A source of at most `size` bytes of the file from `begin` on; None for all bytes."""
        part = object.__new__(OpenFile)
        left = max(0, self.size - begin)
        part.path, part.size = self.path, left if size is None else min(size, left)
        part._handle, part._begin = self._handle, self._begin + begin
        return part

    def read(self, position: int, size: int) -> memoryview:
        """A copy of `size` bytes from `position` on. Raises ShrankError if the file has fewer."""
        target = memoryview(bytearray(size))
        if self.read_into(target, position) < size:
            raise ShrankError
        return target.toreadonly()

    def read_all(self) -> bytes:
        """All bytes up to the file's end, which may be lower than before."""
        return all_bytes(self)

    def read_into(self, target: memoryview, position: int) -> int:
        """Fill `target` with the bytes from `position` on. Returns the number of bytes read."""
        wanted = min(len(target), self.size - position)
        done = 0
        try:
            handle = self._handle.take()
            if handle is None:
                self.size = 0
                return 0
            while done < wanted:
                got = preadv(handle, [target[done:wanted]], self._begin + position + done)
                if got == 0:
                    self.size = position + done
                wanted = min(wanted, self.size - position)
                done += got
        except OSError as error:
            raise UnreadableFileError(self.path, error.strerror or str(error)) from error
        finally:
            self._handle.give_back()
        return max(0, done)


class _Handle:
    """The descriptor of a file, which may be closed between reads."""

    def __init__(self, path: str, number: int) -> None:
        self._path = path
        self._number: int | None = number
        self._closing = weakref.finalize(self, os.close, number)
        self._identity: tuple[int, int] | None = None

    def close(self) -> None:
        self._closing()

    def close_between_reads(self) -> None:
        if self._number is not None:
            self._identity = _identity(self._number)
            self.give_back()

    def take(self) -> int | None:
        """The descriptor; None if the file's name now belongs to another file or to none. Raises
        OSError."""
        if self._number is None:
            self._reopen()
        return self._number

    def give_back(self) -> None:
        """Close the file until the next read, if it closes between reads."""
        if self._identity is not None and self._number is not None:
            self._closing()
            self._number = None

    def _reopen(self) -> None:
        try:
            number = os.open(self._path, READ_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return
        self._number, self._closing = number, weakref.finalize(self, os.close, number)
        if _identity(number) != self._identity:
            self.give_back()


def _identity(number: int) -> tuple[int, int]:
    status = os.fstat(number)
    return status.st_dev, status.st_ino


def blocks(data: Source) -> Iterator[memoryview]:
    """All bytes up to the end, in blocks of BLOCK_BYTES."""
    source = byte_source(data)
    position = 0
    while position < source.size:
        size = min(BLOCK_BYTES, source.size - position)
        try:
            yield memoryview(source.read(position, size))
        except ShrankError:  # source.size is now the new end
            continue
        position += size


def all_bytes(data: Source) -> bytes:
    """All bytes up to the end, at once."""
    return data if isinstance(data, bytes) else b"".join(blocks(data))


def end_of_content(data: bytes) -> int:
    """The position after the last byte that isn't zero; 0 if all bytes are zero.

    Blocks of zeros are compared first, because rstrip compares byte by byte.
    """
    end = len(data)
    while end:
        begin = max(0, end - BLOCK_BYTES)
        block = data[begin:end]  # a slice of the whole data is no copy
        if block != _ZEROS[: len(block)]:
            return begin + len(block.rstrip(b"\0"))
        end = begin
    return 0


Source: TypeAlias = "Buffer | mmap.mmap | InMemory | OpenFile"
"""The forms in which readers of segments take bytes."""


def byte_source(data: Source) -> InMemory | OpenFile:
    """`data` as a ByteSource."""
    return data if isinstance(data, InMemory | OpenFile) else InMemory(data)
