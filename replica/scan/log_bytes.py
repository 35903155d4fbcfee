"""A log's bytes, one file behind another, and lists read from many places of them at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from replica.message.primitives import read_unsigned_varint, uuid_text
from replica.scan.native import Bytes, Longs

_INT32, _UUID = 4, 16


class LogBytes:
    """Files in the order of the log. A place is a position in all of them together."""

    def __init__(self) -> None:
        self._bases: list[int] = [0]
        self._files: list[Bytes] = []
        self._texts: dict[bytes, str] = {}

    def add(self, data: Bytes) -> int:
        """The place of the first byte of a further file; the same as before for the last one."""
        if not self._files or self._files[-1].ctypes.data != data.ctypes.data:
            self._files.append(data)
            self._bases.append(self._bases[-1] + data.size)
        return self._bases[-2]

    def at(self, place: int, size: int) -> bytes:
        """Bytes that lie in one file."""
        number = bisect_right(self._bases, place) - 1
        position = place - self._bases[number]
        return self._files[number][position : position + size].tobytes()

    def int_lists(self, places: Longs) -> list[tuple[int, ...]]:
        """The compact int32 arrays that stand at these places; they were checked."""
        found: list[tuple[int, ...]] = [()] * places.size
        for number, raw, count in self._lists(places, _INT32):
            values = raw.view(">i4").reshape(-1, count).tolist()
            for k, value in zip(number, map(tuple, values), strict=True):
                found[k] = value
        return found

    def uuid_lists(self, places: Longs) -> list[tuple[str, ...]]:
        """The same for compact arrays of uuids."""
        found: list[tuple[str, ...]] = [()] * places.size
        for number, raw, count in self._lists(places, _UUID):
            ids = self._uuid_texts(raw.tobytes())
            for row, k in enumerate(number):
                found[k] = tuple(ids[row * count : (row + 1) * count])
        return found

    def _uuid_texts(self, raw: bytes) -> list[str]:
        pieces = [raw[at : at + _UUID] for at in range(0, len(raw), _UUID)]
        known = self._texts
        for piece in set(pieces) - known.keys():
            known[piece] = uuid_text(piece)
        return [known[piece] for piece in pieces]

    def _lists(self, places: Longs, size: int) -> list[tuple[list[int], Bytes, int]]:
        """(indexes into places, their elements' bytes, elements of each), lists of a length
        together; none for empty lists."""
        found: list[tuple[list[int], Bytes, int]] = []
        files = np.searchsorted(np.array(self._bases), places, side="right") - 1
        for number in np.unique(files).tolist():
            data = self._files[number]
            inside = np.flatnonzero(files == number)
            starts = places[inside] - self._bases[number]
            lengths = data[starts].astype(np.int64)
            for length in np.unique(lengths).tolist():
                same = lengths == length
                if length < 0x80:
                    found += _gathered(data, inside[same], starts[same] + 1, length - 1, size)
                    continue
                for k, start in zip(inside[same], starts[same].tolist(), strict=True):
                    count, at = read_unsigned_varint(data[start : start + 5].tobytes(), 0)
                    found += _gathered(data, np.array([k]), np.array([start + at]), count - 1, size)
        return found


def _gathered(
    data: Bytes, numbers: Longs, starts: Longs, count: int, size: int
) -> Sequence[tuple[list[int], Bytes, int]]:
    if count < 1:
        return ()
    raw: npt.NDArray[Any] = data[starts[:, None] + np.arange(count * size)]
    return ((numbers.tolist(), raw, count),)
