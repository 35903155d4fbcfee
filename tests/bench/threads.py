"""Two threads compared with one: the JSON lines of a segment's halves, and the most that the
machine allows.

The ceiling is zlib's checksum, which holds no lock and touches only a small buffer. Where two of
these checksums together are not twice as fast as one, no other two threads are.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable

from replica.format.segment import scan
from tests.bench.works import lines

_CEILING_BYTES = 1024 * 1024
_CEILING_CALLS = 600
_LEAST_BATCHES = 3


class Ceiling:
    """The checksum of a buffer that fits in a core's cache, `_CEILING_CALLS` times."""

    def alone(self) -> None:
        _spin(_CEILING_CALLS)

    def together(self) -> None:
        """Runs half of the calls in each of two threads."""
        half = _CEILING_CALLS // 2
        at_once(*(lambda: _spin(half) for _ in range(2)))


def _spin(calls: int) -> None:
    buffer = bytes(_CEILING_BYTES)
    for _ in range(calls):
        zlib.crc32(buffer)


class Halves:
    """A segment in memory, cut between two batches near its middle."""

    def __init__(self, data: bytes) -> None:
        view = memoryview(data)
        cut, self._offset = _middle(data)
        self._whole, self._first, self._second = data, view[:cut], view[cut:]

    def alone(self) -> None:
        lines(self._whole)

    def together(self) -> None:
        """Runs each half in a thread."""
        at_once(lambda: lines(self._first), lambda: lines(self._second, self._offset))


def _middle(data: bytes) -> tuple[int, int]:
    """(position, base offset) of the first batch at or after the middle. The segment is sound."""
    position = 0
    while position < len(data) // 2:
        position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
    found = scan(data[position : position + 1024 * 1024]).batches
    assert len(found) >= _LEAST_BATCHES
    return position, found[0].header.base_offset


def at_once(*works: Callable[[], object]) -> None:
    """Runs each function in its own thread, until all have returned."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
