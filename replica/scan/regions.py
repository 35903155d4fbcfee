"""Drives the frame kernel over a buffer, and the scalar reader over what the kernel refuses.

replica.format.segment.scan has two steps: a walk over frames by lengths and CRCs, then a judgement
of base offsets which asks at most two batches behind a doubtful one. Here both go on side by side.
The kernel takes runs of batches that the walk would take without a damage and that the judgement
would keep without a question; neither step looks back over such a run, so the scalar walk, set
behind it, goes on as if it had walked it. Where the kernel stops, the scalar walk makes one step at
a time, and its frames are judged by the scalar judgement, until none is left in doubt.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from replica.format import segment
from replica.format.damage import Damage, DamageKind
from replica.format.segment import LocatedBatch
from replica.scan import frames
from replica.scan.compiled import walk_frames
from replica.scan.native import Bytes, Longs

Source: TypeAlias = "bytes | bytearray | memoryview | mmap.mmap"

_JUDGED_WITH = 1 + segment._WITNESSES
"""Frames that decide over the first of them."""
_MAX_LONG = (1 << 63) - 1
_ZERO_SEARCH_BYTES = 1 << 20


class _Walk(segment._Walk):
    """The scalar walk over any buffer, one step at a time, from any frame on."""

    def __init__(self, view: memoryview, array: Bytes, start: int) -> None:
        super().__init__(b"", start)
        self.data = view  # type: ignore[assignment]  # what bytes alone can do is done below
        self.view = view
        self.array = array
        self.content_end = _content_end(array)
        self.crc_budget = max(segment.RESYNC_CRC_FACTOR * len(view), segment.MIN_RESYNC_CRC_BYTES)

    def step(self) -> bool:
        """Reads a frame or passes a damage; False at the end of the data."""
        if self.position >= self.content_end:
            return False
        header = self._header_here()
        if header is not None:
            self._take(header)
        return True

    def _before_a_batch(self, kind: DamageKind, detail: str, end: int) -> tuple[DamageKind, str]:
        # The scalar walk counts zeros by a method of bytes; the text is its own.
        if _content_end(self.array[self.position : end]) == 0:
            return DamageKind.ZERO_HOLE, f"{end - self.position} zero bytes between batches"
        if kind is DamageKind.TORN_TAIL:
            return DamageKind.FRAMING, f"{detail}, yet a whole batch follows"
        return kind, detail


def _content_end(array: Bytes) -> int:
    """The byte after the last one that isn't zero."""
    end = array.size
    while end > 0:
        begin = max(0, end - _ZERO_SEARCH_BYTES)
        used = np.flatnonzero(array[begin:end])
        if used.size:
            return begin + int(used[-1]) + 1
        end = begin
    return 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one call of the kernel took; valid until the next one, as the arrays are used again.

    batches, rows: the tables of replica.scan.frames, by column; positions count from the buffer.
    """

    batches: Longs
    rows: Longs
    batch_count: int
    row_count: int


Region: TypeAlias = "Chunk | LocatedBatch"
"""A run that the kernel took, or one batch for the scalar reader (its position in the file)."""


class Regions:
    """The batches of a buffer in the order of the file, most of them in runs.

    damages, end_position, zero_tail: as of segment.SegmentScan, complete once `read` has ended.
    """

    def __init__(self, data: Source, start: int, expected_offset: int | None) -> None:
        self.start = start
        self.view = memoryview(data).cast("B").toreadonly()
        self.array: Bytes = np.frombuffer(self.view, np.uint8)
        self._walk = _Walk(self.view, self.array, start)
        self._expected = expected_offset
        self._doubtful: deque[LocatedBatch] = deque()
        self._misplaced: list[Damage] = []
        self._state: Longs = np.zeros(frames.STATE_ITEMS, np.int64)
        self._batches: Longs = np.empty(frames.BATCH_COLUMNS * frames.BATCHES, np.int64)
        self._rows: Longs = np.zeros(0, np.int64)

    @property
    def damages(self) -> tuple[Damage, ...]:
        found = (*self._walk.damages, *self._misplaced)
        return tuple(sorted(found, key=lambda damage: damage.position))

    @property
    def end_position(self) -> int:
        return self.start + self._walk.position

    @property
    def zero_tail(self) -> int:
        return len(self.view) - self._walk.position

    def read(self, program_of: Longs | None) -> Iterator[Region]:
        """The regions; program_of: see walk_frames, None where only batches are wanted."""
        if program_of is not None:
            self._rows = np.empty(frames.ROW_COLUMNS * frames.ROWS, np.int64)
        more = True
        while more:
            if self._kernel_may_go_on():
                yield from self._by_kernel(program_of)
            more = self._walk.step()
            self._doubtful.extend(self._walk.frames)
            self._walk.frames.clear()
            yield from self._judged(at_end=not more)

    def _kernel_may_go_on(self) -> bool:
        expected = self._expected
        return not self._doubtful and expected is not None and 0 <= expected <= _MAX_LONG

    def _by_kernel(self, program_of: Longs | None) -> Iterator[Region]:
        """Runs up to the next frame that is out of order, and batches with odd records between."""
        wanted = np.zeros(1, np.int64) if program_of is None else program_of
        stop = frames.STOP_FULL
        while stop != frames.STOP_FRAME:
            assert self._expected is not None
            stop = walk_frames(
                self.array,
                self._walk.position,
                self._expected,
                int(program_of is not None),
                wanted,
                self._batches,
                self._rows,
                self._state,
            )
            self._walk.position = int(self._state[frames.STATE_POSITION])
            self._expected = int(self._state[frames.STATE_EXPECTED])
            if self._state[frames.STATE_BATCHES]:
                yield self._chunk()
            if stop == frames.STOP_RECORDS:  # a frame without damage, so one step takes it
                self._walk.step()
                yield self._next_in_place(self._walk.frames.pop())

    def _chunk(self) -> Chunk:
        return Chunk(
            self._batches.reshape(frames.BATCH_COLUMNS, frames.BATCHES),
            self._rows.reshape(frames.ROW_COLUMNS, -1),
            int(self._state[frames.STATE_BATCHES]),
            int(self._state[frames.STATE_ROWS]),
        )

    def _next_in_place(self, frame: LocatedBatch) -> LocatedBatch:
        assert frame.crc_valid
        assert frame.header.base_offset == self._expected
        self._expected = frame.header.next_offset
        return frame

    def _judged(self, *, at_end: bool) -> Iterator[LocatedBatch]:
        """The frames that can be judged by now and are believed, in order."""
        while self._doubtful:
            first = self._doubtful[0]
            in_place = first.crc_valid and first.header.base_offset == self._expected
            if not (in_place or at_end or len(self._doubtful) >= _JUDGED_WITH):
                return
            believed = self._judge(tuple(self._doubtful)[:_JUDGED_WITH])
            self._doubtful.popleft()
            if believed:
                yield first

    def _judge(self, window: Sequence[LocatedBatch]) -> bool:
        """Whether the first frame of the window is believed; notes its damage, moves `expected`."""
        first = window[0]
        kept, damages = segment._in_order(window, self._expected)
        self._misplaced += [d for d in damages if d.position == first.position]
        believed = bool(kept) and kept[0] is first
        if believed:
            self._expected = first.header.next_offset
        elif first.crc_valid and segment._fills_its_place(window, 0, self._expected):
            self._expected = window[1].header.base_offset
        return believed
