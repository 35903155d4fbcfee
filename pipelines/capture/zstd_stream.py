"""Reads a Zstandard file as a stream of any size, backwards too, as tar archives need.

cramjam, which decodes the batches of a log, returns frames only as a whole, and one frame can be a
whole archive. pyarrow decodes in pieces.
"""

from __future__ import annotations

import io
from typing import Any

_PIECE_BYTES = 4096
"""The bytes decoded at a time. At a damaged place, the rest of the piece around it is lost."""


def open_zstd(path: str) -> io.BufferedReader:
    """The content of all frames of the file, one after the other; skippable frames are skipped.
    Reading raises OSError at damage, and where the file ends within a frame."""
    return io.BufferedReader(_Frames(path))


class _Frames(io.RawIOBase):
    """pyarrow's decoder, which can only read forwards."""

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
        """Seek from the beginning, or from the current position. Seeking backwards decodes
        everything before it again."""
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
