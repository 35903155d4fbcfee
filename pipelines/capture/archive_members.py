"""Reads the members of a tar or zip archive one by one, also those behind a damaged place. `bundle`
decides which members are unpacked.

The standard library's tarfile takes a damaged header, or a missing end mark, for the end of the
archive, and believes every size in a header. This module examines each place at which tarfile
stops: it names bytes that are no member, and continues at the next header with a right checksum.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from replica.format.damage import DamageKind

_PIECE_BYTES = 4096
"""The bytes decoded at a time. At a damaged place, the rest of the piece around it is lost."""


def open_zstd(path: str) -> io.BufferedReader:
    """The content of all frames of the file, one after the other; skippable frames are skipped.
    Reading raises OSError at damage, and where the file ends within a frame."""
    return io.BufferedReader(_Frames(path))


class _Frames(io.RawIOBase):
    """A Zstandard file of any size, which can be read from any position, as tar archives need.
    pyarrow's decoder reads it in pieces, but only forwards. cramjam, which decodes the batches of a
    log, decodes whole frames only, and a frame may be a whole archive."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._position = 0
        self._decoder = self._begin()

    def _begin(self) -> Any:
        import pyarrow  # This import takes a quarter of a second, and only these bundles need it.

        return pyarrow.CompressedInputStream(pyarrow.OSFile(self._path), "zstd")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        piece = self._decoder.read(min(len(view), _PIECE_BYTES))
        view[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seeks from the beginning, or from the current position. Gives the new position. Seeking
        backwards decodes everything before it again."""
        target = self._position + offset if whence == io.SEEK_CUR else offset
        if target < self._position:
            self._decoder.close()
            self._decoder, self._position = self._begin(), 0
        skipped = bytearray(_PIECE_BYTES)
        while self._position < target:
            rest = min(target - self._position, _PIECE_BYTES)
            if not self.readinto(memoryview(skipped)[:rest]):
                break
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if not self.closed:
            self._decoder.close()
        super().close()


MAX_STREAM_BYTES = 128 * 1024**3
ALWAYS_STREAM_BYTES = 16 * 1024**3
MAX_STREAM_RATIO = 100
"""The bytes to which a tar stream may inflate, unwanted members included: ALWAYS_STREAM_BYTES, or
MAX_STREAM_RATIO times the size of the bundle where that is more, but never more than
MAX_STREAM_BYTES."""
_MAX_HEADER_BYTES = 16 * 1024 * 1024
"""The most bytes of a long name or a pax header. tarfile reads either at once, whatever size it
claims."""
_CHUNK_BYTES = 64 * 1024
_SEARCH_BYTES = 1024 * 1024
_BLOCK = tarfile.BLOCKSIZE
_MAGIC, _MAGIC_AT = b"ustar", 257
_DAMAGED_HEADER = (tarfile.TarError, ValueError, LookupError, ArithmeticError)
_DECOMPRESSORS: dict[bytes, Callable[[str], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"\x28\xb5\x2f\xfd": open_zstd,
    b"\x50\x2a\x4d\x18": open_zstd,  # pzstd begins with a frame that readers skip.
}
"""The decompressor by the first bytes of a file, whatever its suffix."""


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A member of an archive or, with an empty name, a place at which no member could be read."""

    name: str
    position: int
    chunks: Callable[[], Iterator[bytes]] = lambda: iter(())
    """The bytes that can be read; reading them may raise what the standard library raises."""
    problem: str = ""
    """Why the member can't be unpacked, whatever its name is; "" for a plain file."""
    kind: DamageKind = DamageKind.HOSTILE_NAME
    """The kind of the problem."""
    size: int | None = None
    """How many bytes the member claims; None where it claims no number."""


def zip_members(bundle: str) -> Iterator[ArchiveMember]:
    """The files of a zip archive, in the order of its directory."""
    with zipfile.ZipFile(bundle) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            file_type = stat.S_IFMT(info.external_attr >> 16)
            problem = "" if file_type in (0, stat.S_IFREG) else "a link or device, not a file"
            chunks = partial(_zip_chunks, archive, info)
            # `filename` is cut at a NUL; orig_filename isn't.
            yield ArchiveMember(info.orig_filename, info.header_offset, chunks, problem)


def _zip_chunks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    crc = 0
    with cast(zipfile.ZipExtFile, archive.open(info)) as source:
        # The CRC is checked below: zipfile would withhold a member's last bytes if it is wrong.
        source._expected_crc = None  # type: ignore[attr-defined]
        while chunk := source.read1(_CHUNK_BYTES):
            crc = zlib.crc32(chunk, crc)
            yield chunk
    if crc != info.CRC:
        raise zipfile.BadZipFile("the stored CRC is not that of its bytes")


def tar_members(bundle: str) -> Iterator[ArchiveMember]:
    """The files of a tar archive, compressed or not, and the places of the archive where no file
    could be read."""
    with ExitStack() as stack:
        room = max(ALWAYS_STREAM_BYTES, MAX_STREAM_RATIO * os.path.getsize(bundle))
        limit = min(MAX_STREAM_BYTES, room)
        stream = _Stream(stack.enter_context(_opened(bundle)), limit)
        position: int | None = 0
        while position is not None:
            run = _Run(stream, position)
            yield from run.members()
            position, kind_of_gap = _next_header(stream, run.resume_at)
            problem = run.problem or kind_of_gap
            if problem:
                going_on = "" if position is None else f"; reading goes on at byte {position}"
                kind = DamageKind.CONTENT
                yield ArchiveMember("", run.resume_at, problem=problem + going_on, kind=kind)


def _opened(bundle: str) -> Any:
    with open(bundle, "rb") as file:
        head = file.read(8)
    for magic, opener in _DECOMPRESSORS.items():
        if head.startswith(magic):
            return opener(bundle)
    return open(bundle, "rb")


class _Stream:
    """The inflated archive, as tarfile reads it. limit: reading stops at this byte."""

    def __init__(self, file: Any, limit: int) -> None:
        self._file = file
        self.limit = limit
        self.tell = file.tell

    def seek(self, position: int) -> int:
        if position > self.limit:
            raise tarfile.ReadError(f"byte {position} is past the limit, {self.limit}")
        return int(self._file.seek(position))

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _MAX_HEADER_BYTES:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return bytes(self._file.read(size))

    def region(self, position: int, size: int) -> Iterator[bytes]:
        """The bytes of a member, which begins at byte `position` and has `size` bytes. Where the
        bundle ends too early, it raises EOFError after the bytes that are there."""
        self.seek(position)
        while size > 0:
            chunk = self._file.read1(min(size, _CHUNK_BYTES))
            if not chunk:
                raise EOFError(f"{size} bytes are missing: the bundle ends here")
            size -= len(chunk)
            yield chunk


class _Run:
    """Members that follow each other, from a header to bytes that are no header.

    resume_at: the position from which the next header is searched.
    problem: why the run ended; "" where it ended at bytes that tarfile takes for the end of the
        archive.
    """

    def __init__(self, stream: _Stream, start: int) -> None:
        self._stream = stream
        self._start = start
        self.resume_at = start
        self.problem = ""

    def members(self) -> Iterator[ArchiveMember]:
        last: tarfile.TarInfo | None = None
        try:
            self._stream.seek(self._start)
            archive = tarfile.TarFile(fileobj=self._stream)  # type: ignore[arg-type]
            for info in archive:
                if info.size < 0 or archive.offset <= info.offset:
                    raise tarfile.ReadError(f"a member of {info.size} bytes")
                last = info
                if not info.isdir():
                    problem = "" if info.isfile() else "a link or device, not a file"
                    size = None  # A damaged size of a plain member only says how far to read.
                    chunks = partial(self._stream.region, info.offset_data, info.size)
                    if info.issparse():
                        size, chunks = info.size, partial(_sparse_chunks, archive, info)
                    yield ArchiveMember(info.name, info.offset, chunks, problem, size=size)
            self.resume_at = archive.offset if last else self._start + _BLOCK
        except _DAMAGED_HEADER as error:
            self.problem = f"no member can be read here: {' '.join(str(error).split())[:120]}"
            # A wrong size may have included the members behind.
            self.resume_at = self._start + _BLOCK if last is None else last.offset_data


def _sparse_chunks(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    source = archive.extractfile(info)
    assert source is not None, "isfile() was checked"
    while chunk := source.read(_CHUNK_BYTES):
        yield chunk


def _next_header(stream: _Stream, start: int) -> tuple[int | None, str]:
    """The position of the next block that looks like a header, None where there is none; and what
    is wrong with the bytes before it. Zeros are no fault: they end an archive, and fill the space
    between joined archives. Raises OSError beyond the stream's limit.
    """
    stream.seek(start)
    position, used = start, 0
    while chunk := stream.read(_SEARCH_BYTES):
        at = _header_in(chunk)
        before = chunk if at is None else chunk[:at]
        used += len(before) - before.count(0)
        if at is not None:
            return position + at, _gap(used)
        position += len(chunk)
        if position > stream.limit:
            raise OSError(f"more than {stream.limit} bytes")
    if position == start:
        return None, "the end mark is missing: the bundle may be cut here"
    return None, _gap(used)


def _gap(used: int) -> str:
    return "bytes that are no member" if used else ""


def _header_in(chunk: bytes) -> int | None:
    at = chunk.find(_MAGIC, _MAGIC_AT)
    while at >= 0:
        block, offset = divmod(at - _MAGIC_AT, _BLOCK)
        if offset == 0 and _is_header(chunk[block * _BLOCK : (block + 1) * _BLOCK]):
            return block * _BLOCK
        at = chunk.find(_MAGIC, at + 1)
    return None


def _is_header(block: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(block, tarfile.ENCODING, "surrogateescape")
    except _DAMAGED_HEADER:
        return False
    return True
