"""Runs the frame kernel over a source, and the scalar reader over the batches that the kernel
refuses.

The scalar reader (replica.format.segment.scan) walks from batch to batch by lengths and CRCs. It
also judges base offsets, for which it needs at most two batches behind a doubtful batch. The kernel
takes runs of batches in which the scalar reader would find no damage and no doubtful base offset.
The scalar reader never looks back over such a run, so it can continue behind the run as if it had
read the run. Where the kernel stops, the scalar reader continues batch by batch until no base
offset is in doubt. The scalar reader reads everything as long as the kernels aren't compiled
(replica.scan.readiness).

The kernel sees a window of the source at a time. A batch that isn't completely in the window is
read whole before it is judged. The scalar reader reads from the source itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from replica.format.batch import CONTROL_ATTRIBUTE, decode_header
from replica.format.byte_source import InMemory, OpenFile, Source
from replica.format.content import batch_bytes
from replica.format.record import Record
from replica.format.segment import JudgedWalk
from replica.format.walk import LocatedBatch
from replica.scan import frames
from replica.scan.compiled import find_odd_rows, walk_frames
from replica.scan.native import Bytes, Longs
from replica.scan.readiness import expect, ready
from replica.scan.tables import MAX_WIDTH

WINDOW_BYTES = 1024 * 1024
"""The bytes of a window. In measurements, half of a core's second-level cache was the fastest size,
because it leaves room for what kernels write."""


class Window:
    """A window on a source. array: the bytes from position `begin` of the source on. `array` and
    `begin` change whenever `reach` moves the window.

    One buffer holds each part of a file in turn. So the buffer stays in the CPU's cache, the
    operating system gives no new pages, and memory doesn't grow with the file. The buffer grows for
    a larger batch, up to LARGEST_BATCH_BYTES.
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
        """Whether all `size` bytes from `position` on are in the window."""
        return self.begin <= position and position + size <= self.end

    def view(self, position: int, size: int) -> memoryview:
        """The `size` bytes from `position` on, which are in the window. They are valid until the
        window moves."""
        at = position - self.begin
        return self.array.data[at : at + size]

    def reach(self, position: int, size: int) -> bool:
        """Move the window to `position`, from which `size` bytes are needed. Returns False, without
        a move, if a move would give no new bytes."""
        if self._file is None or self.holds(position, size):
            return False
        if size > frames.LARGEST_BATCH_BYTES or position + size > self._file.size:
            return False
        left = max(self.end - position, 0) if position >= self.begin else 0
        kept = self.array[self.array.size - left :]
        if size > self._buffer.size:
            self._buffer = np.empty(size, np.uint8)
        self._buffer[:left] = kept  # numpy copies overlapping ranges correctly
        filled = left + self._file.read_into(self._buffer.data[left:], position + left)
        self.begin = position
        self.array = self._part(filled)
        return filled > left

    def _part(self, filled: int) -> Bytes:
        part = self._buffer[:filled]
        part.flags.writeable = False
        return part


_MAX_LONG = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """The batches that one call of the kernel took. The chunk is valid until the next call, which
    overwrites the arrays. batches and rows are the tables of replica.scan.frames, by column; their
    positions count from the first byte of `array`."""

    array: Bytes
    """The bytes, of which the first is byte `start` of the file."""
    start: int
    batches: Longs
    rows: Longs
    batch_count: int
    row_count: int

    def is_control(self, row: int) -> bool:
        attributes = self.batches[frames.BATCH_ATTRIBUTES, self.rows[frames.ROW_BATCH, row]]
        return bool(attributes & CONTROL_ATTRIBUTE)

    def record(self, row: int) -> Record:
        """A row for the scalar reader. The kernel's rows have neither headers nor attributes."""
        number = self.rows[:, row].tolist()
        return Record(
            number[frames.ROW_OFFSET],
            number[frames.ROW_TIME],
            self._bytes(number[frames.ROW_KEY], number[frames.ROW_KEY_SIZE]),
            self._bytes(number[frames.ROW_VALUE], number[frames.ROW_VALUE_SIZE]),
        )

    def odd_rows(self, guarded: int, sought: Longs) -> Longs:
        """The numbers of the rows that the kernel find_odd_rows notes, in ascending order. guarded,
        sought: arguments of that kernel."""
        odd, places = np.empty(self.row_count, np.int64), np.empty(MAX_WIDTH, np.int64)
        count = find_odd_rows(
            self.array, self.rows.reshape(-1), self.row_count, guarded, sought, odd, places
        )
        return odd[:count]

    def _bytes(self, position: int, size: int) -> bytes | None:
        return None if size < 0 else self.array[position : position + size].tobytes()


Region: TypeAlias = "Chunk | LocatedBatch"
"""A run of batches that the kernel took; or one batch, with its position in the file, that the
scalar reader must read."""


class Regions(JudgedWalk):
    """The batches of a source in the order of the file, most of them in runs. Its properties are
    complete when `read` has ended. data, start, expected_offset: the arguments of JudgedWalk."""

    def __init__(self, data: Source, start: int, expected_offset: int | None) -> None:
        super().__init__(data, start=start, expected_offset=expected_offset)
        self.start = start
        expect(self._source.size)
        self._window = Window(self._source)
        self._state: Longs = np.zeros(frames.STATE_ITEMS, np.int64)
        self._batches: Longs = np.empty(frames.BATCH_COLUMNS * frames.BATCHES, np.int64)
        self._rows: Longs = np.zeros(0, np.int64)

    @property
    def size(self) -> int:
        """The size of the source in bytes."""
        return self._source.size

    def read(self, program_of: Longs | None) -> Iterator[Region]:
        """The regions in the order of the file. program_of: the table of programs that the kernel
        walk_frames takes; None to read only batches."""
        if program_of is not None:
            self._rows = np.empty(frames.ROW_COLUMNS * frames.ROWS, np.int64)
        while not self._walk.at_end:
            if self._kernel_may_go_on():
                yield from self._by_kernel(program_of)
            frame = self._walk.step()
            if frame is not None:
                yield from map(self._believed, self._judgement.take(frame))
        yield from map(self._believed, self._judgement.rest())

    def bytes_of(self, batch: LocatedBatch) -> memoryview:
        """The bytes of the last batch with a valid CRC. Raises UnreadableFileError if the file can
        no longer be read."""
        position, size = batch.position - self.start, batch.header.size_bytes
        if self._window.holds(position, size):
            return self._window.view(position, size)
        return batch_bytes(self._source, position, batch.header)

    def _kernel_may_go_on(self) -> bool:
        if not ready():
            return False
        expected = self._judgement.expected
        if self._judgement.in_doubt or expected is None or not 0 <= expected <= _MAX_LONG:
            return False
        if not self._walk.takes_any_batch:
            return False
        window, position = self._window, self._walk.position
        return window.holds(position, 0) or window.reach(position, frames.HEADER_BYTES)

    def _by_kernel(self, program_of: Longs | None) -> Iterator[Region]:
        """Chunks up to the next batch that is invalid or has an unexpected offset, and between them
        the batches whose records the kernel refuses."""
        more = True
        while more:
            stop = self._walk_frames(program_of)
            position = self._walk.position
            if self._state[frames.STATE_BATCHES]:
                self.next_offset = self._judgement.expected
                yield self._chunk()
            if stop == frames.STOP_RECORDS:
                yield self._believed(self._frame_in_window())
            elif stop == frames.STOP_SHORT:
                more = self._window.reach(position, int(self._state[frames.STATE_WANTED]))
            else:
                more = stop == frames.STOP_FULL

    def _walk_frames(self, program_of: Longs | None) -> int:
        begin = self._window.begin
        stop = walk_frames(
            self._window.array,
            self._walk.position - begin,
            self._judgement.expected or 0,
            int(program_of is not None),
            np.zeros(1, np.int64) if program_of is None else program_of,
            self._batches,
            self._rows,
            self._state,
        )
        self._walk.skip_to(begin + int(self._state[frames.STATE_POSITION]))
        if self._state[frames.STATE_BATCHES]:
            expected = int(self._state[frames.STATE_EXPECTED])
            self._judgement.go_on(expected, self.start + self._walk.position)
        return stop

    def _chunk(self) -> Chunk:
        return Chunk(
            self._window.array,
            self.start + self._window.begin,
            self._batches.reshape(frames.BATCH_COLUMNS, frames.BATCHES),
            self._rows.reshape(frames.ROW_COLUMNS, -1),
            int(self._state[frames.STATE_BATCHES]),
            int(self._state[frames.STATE_ROWS]),
        )

    def _frame_in_window(self) -> LocatedBatch:
        """The batch at the walk's position, which the kernel found valid except for its records."""
        position = self._walk.position
        header = decode_header(self._window.view(position, frames.HEADER_BYTES))
        self._walk.skip_to(position + header.size_bytes)
        self._judgement.go_on(header.next_offset, self.start + self._walk.position)
        return LocatedBatch(self.start + position, header, crc_valid=True)
