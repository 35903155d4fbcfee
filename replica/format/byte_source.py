"""Bytes at known places: a buffer in memory, or an open file of which little is in memory.

A running node may cut a file short or write on while it is read. The size is that of the opening;
what is written behind it later is not looked at, and a file that ends earlier lowers `size`.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from os import preadv
from types import TracebackType
from typing import Protocol, TypeAlias

from replica.errors import UnreadableFileError
from replica.message.primitives import Buffer

SMALL_BYTES = 1024 * 1024
"""Files up to this size are read into plain bytes."""
_READ_BYTES = 1024 * 1024
_PART_BYTES = 4096
"""A page of memory on most machines."""
_ZEROS, _ZERO_PART = bytes(_READ_BYTES), bytes(_PART_BYTES)


class ShrankError(Exception):
    """The file ends before the bytes that were asked for; the source's `size` says where."""


class TooMuchContentError(Exception):
    """The file holds more bytes, zeros left out, than its reader has room for."""


class ByteSource(Protocol):
    """What a walk over frames reads from."""

    @property
    def size(self) -> int:
        """Bytes there are; may get less, never more."""

    def read(self, position: int, size: int) -> Buffer:
        """Exactly `size` bytes, which lie within the source's size; ShrankError."""


class InMemory:
    """A buffer, which must not change while it is read.

    A mapped file that another process cuts short kills this process: map only what nobody writes.
    """

    def __init__(self, data: Buffer | mmap.mmap) -> None:
        self.view = memoryview(data).cast("B").toreadonly()
        self.size = len(self.view)

    def read(self, position: int, size: int) -> memoryview:
        """A view, not a copy."""
        return self.view[position : position + size]


class OpenFile:
    """A regular file, open for reading; closes with its context. See reading.open_file.

    UnreadableFileError where the operating system fails to read.
    """

    def __init__(self, path: str, handle: int, size: int) -> None:
        self.path = path
        self.size = size
        self._handle = handle

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def read(self, position: int, size: int) -> memoryview:
        """A copy of the bytes."""
        target = memoryview(bytearray(size))
        if self.read_into(target, position) < size:
            raise ShrankError
        return target.toreadonly()

    def read_all(self) -> bytes:
        """Every byte, as far as the file still reaches."""
        try:
            with open(self._handle, "rb", closefd=False) as file:
                return file.read(self.size)
        except OSError as error:
            raise UnreadableFileError(self.path, error.strerror or str(error)) from error

    def read_sparse(self, most_content: int | None = None) -> Buffer:
        """The same, but long runs of zeros take no memory: pages are taken where something is
        written to them.

        most_content: bytes beside such runs that are read at most; TooMuchContentError beyond.
        """
        if self.size <= SMALL_BYTES:
            return self.read_all()
        try:
            pages = mmap.mmap(-1, self.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise UnreadableFileError(self.path, f"{self.size} bytes: {error.strerror}") from error
        if hasattr(mmap, "MADV_NOHUGEPAGE"):  # or a byte could take 2 MiB
            pages.madvise(mmap.MADV_NOHUGEPAGE)
        whole, piece = memoryview(pages), memoryview(bytearray(_READ_BYTES))
        position = content = 0
        while position < self.size:
            got = self.read_into(piece[: self.size - position], position)
            for start, end in parts_with_content(piece[:got]):
                content += end - start
                whole[position + start : position + end] = piece[start:end]
            if most_content is not None and content > most_content:
                raise TooMuchContentError
            position += got
        return whole[: self.size].toreadonly()

    def read_into(self, target: memoryview, position: int) -> int:
        """Fills `target` with the bytes from `position` on; how many there were."""
        wanted = min(len(target), self.size - position)
        done = 0
        while done < wanted:
            try:
                got = preadv(self._handle, [target[done:wanted]], position + done)
            except OSError as error:
                raise UnreadableFileError(self.path, error.strerror or str(error)) from error
            if got == 0:
                self.size = position + done
            wanted = min(wanted, self.size - position)
            done += got
        return done


def parts_with_content(data: Buffer) -> Iterator[tuple[int, int]]:
    """(start, end) of the parts of a buffer that aren't zeros all through, page by page."""
    view = memoryview(data)
    for begin in range(0, len(view), _READ_BYTES):
        block = view[begin : begin + _READ_BYTES]
        if bytes(block) == _ZEROS[: len(block)]:  # of bytes, the fastest comparison there is
            continue
        for at in range(begin, begin + len(block), _PART_BYTES):
            part = view[at : at + _PART_BYTES]
            if bytes(part) != _ZERO_PART[: len(part)]:
                yield at, at + len(part)


def end_of_content(data: bytes) -> int:
    """The byte after the last one that isn't zero, 0 for none.

    rstrip looks at a byte at a time, so blocks of zeros are compared first.
    """
    end = len(data)
    while end:
        begin = max(0, end - _READ_BYTES)
        block = data[begin:end]  # all of the data, where that is one block, and no copy
        if block != _ZEROS[: len(block)]:
            return begin + len(block.rstrip(b"\0"))
        end = begin
    return 0


Source: TypeAlias = "Buffer | mmap.mmap | OpenFile"
"""What a reader of segments is given."""


def byte_source(data: Source) -> InMemory | OpenFile:
    """The same, to be read from."""
    return data if isinstance(data, OpenFile) else InMemory(data)
