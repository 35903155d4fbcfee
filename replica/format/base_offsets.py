"""Judges whether the base offset of a frame is right. The CRC doesn't cover the base offset, so the
neighbouring frames must confirm it.

A frame with another base offset than expected is judged by the two frames behind it. A frame leaps
if it skips more offsets than fit into the bytes before it. A frame that leaps is judged by all
frames of the next MiB: a fault may have written a block from another part of the log here, and
accepting this block would lose the right frames behind it.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

from replica.format.batch import MIN_RECORD_BYTES
from replica.format.damage import Damage, DamageKind
from replica.format.walk import LocatedBatch

_WITNESSES = 2
"""The number of frames behind a doubtful frame that judge it."""
_LEAP_BYTES = 1024 * 1024
"""A frame that leaps is judged by the frames of this many bytes, including its own."""
_RUNS = 64
"""The most runs of doubtful frames that are compared. Only a hostile file has more."""


class OffsetJudgement:
    """Takes the frames of a walk in order, and returns the frames whose base offsets are accepted.

    expected: the base offset of the next frame; None for any.
    end: the byte of the file at which the frames begin.
    damages: gaps, and the frames that are not accepted.

    A frame with a wrong CRC, whose damage the walk has recorded, is accepted if its header fits its
    place.
    """

    def __init__(self, expected: int | None, end: int) -> None:
        self.expected = expected
        self.damages: list[Damage] = []
        self._pending: deque[LocatedBatch] = deque()
        self._runs = _Runs()
        self._sound_end = end  # the byte after the last frame with a valid CRC
        self._room = 0  # how many offsets fit behind the last accepted frame

    @property
    def in_doubt(self) -> bool:
        """Whether the judgement of a frame waits for the frames behind it."""
        return bool(self._pending)

    def go_on(self, expected: int, end: int) -> None:
        """Continue at byte `end` of the file, where base offset `expected` is due."""
        self.expected = expected
        self._sound_end = end
        self._room = 0

    def take(self, frame: LocatedBatch) -> list[LocatedBatch]:
        """Take the next frame. Returns the frames that are accepted now."""
        if not self._pending and frame.crc_valid and frame.header.base_offset == self.expected:
            self.go_on(frame.header.next_offset, _end(frame))
            return [frame]
        self._pending.append(frame)
        self._runs.add(frame)
        believed = []
        while self._pending and self._is_ripe():
            believed += self._judge_first()
        return believed

    def rest(self) -> list[LocatedBatch]:
        """The doubtful frames that are accepted because no further frame follows."""
        believed = []
        while self._pending:
            believed += self._judge_first()
        return believed

    def _is_ripe(self) -> bool:
        first = self._pending[0]
        if not first.crc_valid or first.header.base_offset == self.expected:
            return True
        if len(self._pending) <= _WITNESSES:
            return False
        seen = _end(self._pending[-1]) - first.position
        return seen >= _LEAP_BYTES or not self._leaps(first)

    def _judge_first(self) -> list[LocatedBatch]:
        pushes_out = self._would_push_out_others(self._pending[0])
        frame = self._pending.popleft()
        self._runs.remove_first(frame)
        header = frame.header
        in_place = header.base_offset == self.expected
        if frame.crc_valid:
            believed = in_place or (not pushes_out and self._lies_behind_a_gap(frame))
            if not believed or not (in_place or self.expected is None):
                self.damages.append(_offset_damage(frame, self.expected, believed))
        else:
            dense = header.record_count == header.last_offset_delta + 1
            believed = dense and (in_place or self.expected is None)
        if believed:
            self.go_on(header.next_offset, _end(frame))
            return [frame]
        if frame.crc_valid:
            self._room += self._between(frame) + header.last_offset_delta + 1
            self._sound_end = _end(frame)
            if self._fills_its_place(frame):
                self.expected = self._pending[0].header.base_offset
        return []

    def _between(self, frame: LocatedBatch) -> int:
        """The most records that fit into the bytes between the last sound frame and this one."""
        return (frame.position - self._sound_end) // MIN_RECORD_BYTES

    def _leaps(self, frame: LocatedBatch) -> bool:
        """Whether the frame skips more offsets than fit into the bytes before it."""
        if self.expected is None:
            return False
        return frame.header.base_offset - self.expected > self._room + self._between(frame)

    def _would_push_out_others(self, frame: LocatedBatch) -> bool:
        """Whether the frame leaps, and accepting it would lose more offsets than it adds."""
        if self.expected is None or not frame.crc_valid or not self._leaps(frame):
            return False
        return self._runs.loses_more_by_the_first(self.expected)

    def _lies_behind_a_gap(self, frame: LocatedBatch) -> bool:
        lowest = 0 if self.expected is None else self.expected
        if frame.header.base_offset < lowest or self._fills_its_place(frame):
            return False
        behind = [other.header.base_offset for other in islice(self._pending, _WITNESSES)]
        witnesses = [base_offset for base_offset in behind if base_offset >= lowest]
        following = frame.header.next_offset
        return not witnesses or any(base_offset >= following for base_offset in witnesses)

    def _fills_its_place(self, frame: LocatedBatch) -> bool:
        """Whether the next frame starts where `frame` would end if `frame` had the expected offset.
        False if no offset is expected, or no next frame is known yet."""
        if self.expected is None or not self._pending:
            return False
        count = frame.header.last_offset_delta + 1
        return self._pending[0].header.base_offset == self.expected + count


class _Run:
    """Doubtful frames with valid CRCs whose offsets follow one another.

    begin: the first offset (inclusive).
    end: the end offset (exclusive).
    """

    def __init__(self, frame: LocatedBatch) -> None:
        self.begin = frame.header.base_offset
        self.end = frame.header.next_offset

    def offsets_within(self, begin: int, end: int) -> int:
        """The number of the run's offsets from `begin` (inclusive) to `end` (exclusive)."""
        return max(0, min(self.end, end) - max(self.begin, begin))


class _Runs:
    """The runs of the doubtful frames. Frames are added at the end and removed at the front."""

    def __init__(self) -> None:
        self._runs: deque[_Run] = deque()
        self._may_continue = False

    def add(self, frame: LocatedBatch) -> None:
        header = frame.header
        if frame.crc_valid and self._may_continue and self._runs[-1].end == header.base_offset:
            self._runs[-1].end = header.next_offset
        elif frame.crc_valid:
            self._runs.append(_Run(frame))
        self._may_continue = frame.crc_valid

    def remove_first(self, frame: LocatedBatch) -> None:
        """Take out the oldest frame."""
        if not frame.crc_valid:
            return
        self._runs[0].begin = frame.header.next_offset
        if self._runs[0].begin == self._runs[0].end:
            self._runs.popleft()
            self._may_continue = self._may_continue and bool(self._runs)

    def loses_more_by_the_first(self, expected: int) -> bool:
        """Whether accepting the first run loses more offsets from `expected` on than refusing it.
        Accepting it loses the later runs with lower offsets."""
        first = self._runs[0]
        behind = list(islice(self._runs, 1, 1 + _RUNS))
        pushed_out = sum(run.offsets_within(expected, first.begin) for run in behind)
        again = sum(run.offsets_within(first.begin, first.end) for run in behind)
        return pushed_out > max(0, first.end - first.begin - again)


def _end(frame: LocatedBatch) -> int:
    return frame.position + frame.header.size_bytes


def _offset_damage(frame: LocatedBatch, expected: int | None, believed: bool) -> Damage:
    base_offset = frame.header.base_offset
    if expected is None:
        detail = f"base offset {base_offset} contradicts the batches behind it"
    else:
        detail = f"base offset {base_offset}, expected {expected}"
    if believed:
        return Damage(frame.position, 0, DamageKind.OFFSET_GAP, detail)
    return Damage(frame.position, frame.header.size_bytes, DamageKind.OFFSET_MISMATCH, detail)
