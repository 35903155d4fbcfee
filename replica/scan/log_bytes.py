"""Reads bytes of a log whose files follow each other, and reads lists at many places of the log
together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from replica.errors import DataError
from replica.format.byte_source import ByteSource, ShrankError
from replica.format.content import MovedError
from replica.message.primitives import read_unsigned_varint, uuid_text
from replica.message.reader import MAX_ELEMENTS
from replica.scan.native import Bytes, Longs

_INT32, _UUID = 4, 16
_SPAN_BYTES = 1024 * 1024
"""Places that are at most _GAP_BYTES apart are read together, up to _SPAN_BYTES at once. Behind the
last place, _BEHIND_BYTES more are read, in which most lists end."""
_GAP_BYTES = 4096
_BEHIND_BYTES = 512
_LENGTH_BYTES = 5
"""The most bytes that the length of a list takes."""


class LogBytes:
    """The files of a log in their order. A place is a position in all files together.

    The bytes were checked when the files were scanned. Methods raise MovedError if the bytes have
    changed since then.
    """

    def __init__(self) -> None:
        self._bases: list[int] = [0]
        self._files: list[ByteSource] = []
        self._texts: dict[bytes, str] = {}

    def add(self, file: ByteSource) -> int:
        """The place of the first byte of another file. Adding the last file again returns the same
        place."""
        if not self._files or self._files[-1] is not file:
            self._files.append(file)
            self._bases.append(self._bases[-1] + file.size)
        return self._bases[-2]

    def at(self, place: int, size: int) -> bytes:
        """The `size` bytes from a place on, which must be in one file."""
        number = bisect_right(self._bases, place, 0, len(self._files)) - 1
        return bytes(_read(self._files[number], place - self._bases[number], size))

    def int_lists(self, places: Longs) -> list[tuple[int, ...]]:
        """The compact int32 arrays at these places."""
        found: list[tuple[int, ...]] = [()] * places.size
        for number, raw, count in self._lists(places, _INT32):
            for k, value in zip(number, raw.view(">i4").reshape(-1, count).tolist(), strict=True):
                found[k] = tuple(value)
        return found

    def uuid_lists(self, places: Longs) -> list[tuple[str, ...]]:
        """The compact arrays of uuids at these places."""
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

    def _lists(self, places: Longs, size: int) -> Iterator[tuple[list[int], Bytes, int]]:
        """The lists at these places, in groups of lists with the same length. A group is (indexes
        into places, the bytes of all elements, the number of elements of each list). Empty lists
        are left out."""
        bases = np.array(self._bases[:-1] or [0], np.int64)
        files = np.searchsorted(bases, places, side="right") - 1
        for number in np.unique(files).tolist():
            inside = np.flatnonzero(files == number)
            positions = places[inside] - bases[number]
            order = np.argsort(positions)
            for low, high in _spans(positions[order]):
                chosen = order[low:high]
                yield from _of_span(self._files[number], inside[chosen], positions[chosen], size)


def _spans(positions: Longs) -> Iterator[tuple[int, int]]:
    """Runs of rising positions that are read together, each as low <= index < high."""
    starts = np.flatnonzero(np.diff(positions) > _GAP_BYTES) + 1
    for low, high in zip([0, *starts.tolist()], [*starts.tolist(), positions.size], strict=True):
        while low < high:
            within = positions[low:high] < positions[low] + _SPAN_BYTES
            count = int(np.count_nonzero(within))
            yield low, low + count
            low += count


def _of_span(
    file: ByteSource, numbers: Longs, positions: Longs, size: int
) -> Iterator[tuple[list[int], Bytes, int]]:
    """The groups that _lists gives, for lists whose places are read together. numbers: the indexes
    of these lists."""
    begin = int(positions[0])
    behind = min(int(positions[-1]) + _BEHIND_BYTES, file.size)
    data = np.frombuffer(_read(file, begin, behind - begin), np.uint8)
    starts = positions - begin
    lengths = data[starts].astype(np.int64)
    fits = (lengths < 0x80) & (starts + 1 + (lengths - 1) * size <= data.size)
    for length in np.unique(lengths[fits]).tolist():
        same = fits & (lengths == length)
        yield from _gathered(data, numbers[same], starts[same] + 1, length - 1, size)
    for k in np.flatnonzero(~fits).tolist():
        place = int(positions[k])
        count, at = _length(_read(file, place, min(_LENGTH_BYTES, file.size - place)))
        whole = np.frombuffer(_read(file, place + at, count * size), np.uint8)
        yield from _gathered(whole, numbers[[k]], np.zeros(1, np.int64), count, size)


def _length(raw: bytes) -> tuple[int, int]:
    """(number of elements, bytes that this number takes) of the list at the beginning of `raw`."""
    try:
        length, at = read_unsigned_varint(raw, 0)
    except DataError as error:
        raise MovedError from error
    if not 0 < length <= MAX_ELEMENTS + 1:
        raise MovedError
    return length - 1, at


def _read(file: ByteSource, position: int, size: int) -> bytes:
    try:
        found = bytes(file.read(position, size))
    except ShrankError as error:
        raise MovedError from error
    if len(found) != size:
        raise MovedError
    return found


def _gathered(
    data: Bytes, numbers: Longs, starts: Longs, count: int, size: int
) -> Iterator[tuple[list[int], Bytes, int]]:
    if count < 1:
        return
    raw: npt.NDArray[Any] = data[starts[:, None] + np.arange(count * size)]
    yield numbers.tolist(), raw, count
