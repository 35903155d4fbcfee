"""The part of a source that the kernels see: a whole buffer, or a part of a file.

One buffer holds each part of a file in turn. It stays in the CPU's cache, the system needn't give
new pages, and memory doesn't grow with the file.
"""

from __future__ import annotations

import numpy as np

from replica.format.byte_source import InMemory, OpenFile
from replica.scan import frames
from replica.scan.native import Bytes

WINDOW_BYTES = 1024 * 1024
"""The bytes of a window. Half of a core's second-level cache was the fastest in measurements: it
leaves room for what kernels write."""


class Window:
    """A window on a source. array: the bytes from position `begin` of the source on. Both change
    whenever `reach` moves the window.

    The buffer for a file grows for a larger batch, up to the largest one that kernels take.
    """

    def __init__(self, source: InMemory | OpenFile) -> None:
        self._file = source if isinstance(source, OpenFile) else None
        self.begin = 0
        if isinstance(source, InMemory):
            self.array: Bytes = np.frombuffer(source.view, np.uint8)
        else:
            room = max(min(WINDOW_BYTES, source.size), 1)
            self._buffer: Bytes = np.empty(room, np.uint8)
            self.array = self._part(0)

    @property
    def end(self) -> int:
        """The position in the source behind the last byte."""
        return self.begin + self.array.size

    def holds(self, position: int, size: int) -> bool:
        """Whether all these bytes lie in the window."""
        return self.begin <= position and position + size <= self.end

    def view(self, position: int, size: int) -> memoryview:
        """Bytes in the window. They are valid until it moves."""
        at = position - self.begin
        return self.array.data[at : at + size]

    def reach(self, position: int, size: int) -> bool:
        """Move to `position`, whose next `size` bytes are needed. False where a move would bring
        nothing new; then the window stays."""
        if self._file is None or self.holds(position, size):
            return False
        if size > frames.LARGEST_BATCH_BYTES or position + size > self._file.size:
            return False
        left = max(self.end - position, 0) if position >= self.begin else 0
        kept = self.array[self.array.size - left :]
        if size > self._buffer.size:
            self._buffer = np.empty(size, np.uint8)
        self._buffer[:left] = kept  # numpy copes with overlapping ranges.
        filled = left + self._file.read_into(self._buffer.data[left:], position + left)
        self.begin = position
        self.array = self._part(filled)
        return filled > left

    def _part(self, filled: int) -> Bytes:
        part = self._buffer[:filled]
        part.flags.writeable = False
        return part
