"""Whether the base offset of a frame can be believed: the CRC doesn't cover it, the batches around
it must bear it out. A frame that isn't where it is expected is judged with the two behind it.
"""

from __future__ import annotations

from collections import deque

from replica.format.damage import Damage, DamageKind
from replica.format.walk import LocatedBatch

_WITNESSES = 2
"""Frames behind a doubtful one that are asked about it."""


class OffsetJudgement:
    """Takes the frames of a walk in order and gives those whose base offsets can be believed.

    expected: the base offset that the next frame should have, None where any will do.
    damages: gaps, and the frames that are not believed. A frame with a wrong CRC is believed where
    its header fits its place; its damage is known already.
    """

    def __init__(self, expected: int | None) -> None:
        self.expected = expected
        self.damages: list[Damage] = []
        self._pending: deque[LocatedBatch] = deque()

    @property
    def in_doubt(self) -> bool:
        """Whether a frame waits for those behind it."""
        return bool(self._pending)

    def take(self, frame: LocatedBatch) -> list[LocatedBatch]:
        """The frames that are believed now that this one is known."""
        if not self._pending and frame.crc_valid and frame.header.base_offset == self.expected:
            self.expected = frame.header.next_offset
            return [frame]
        self._pending.append(frame)
        believed = []
        while self._pending and self._is_ripe():
            believed += self._judge_first()
        return believed

    def rest(self) -> list[LocatedBatch]:
        """The frames still in doubt that are believed as no other follows."""
        believed = []
        while self._pending:
            believed += self._judge_first()
        return believed

    def _is_ripe(self) -> bool:
        first = self._pending[0]
        return (
            not first.crc_valid
            or first.header.base_offset == self.expected
            or len(self._pending) > _WITNESSES
        )

    def _judge_first(self) -> list[LocatedBatch]:
        frame = self._pending.popleft()
        header = frame.header
        in_place = header.base_offset == self.expected
        if frame.crc_valid:
            believed = in_place or self._lies_behind_a_gap(frame)
            if not believed or not (in_place or self.expected is None):
                self.damages.append(_offset_damage(frame, self.expected, believed))
        else:
            dense = header.record_count == header.last_offset_delta + 1
            believed = dense and (in_place or self.expected is None)
        if believed:
            self.expected = header.next_offset
        elif frame.crc_valid and self._fills_its_place(frame):
            self.expected = self._pending[0].header.base_offset
        return [frame] if believed else []

    def _lies_behind_a_gap(self, frame: LocatedBatch) -> bool:
        lowest = 0 if self.expected is None else self.expected
        if frame.header.base_offset < lowest or self._fills_its_place(frame):
            return False
        behind = [self._pending[k].header.base_offset for k in range(len(self._pending))]
        witnesses = [base_offset for base_offset in behind[:_WITNESSES] if base_offset >= lowest]
        following = frame.header.next_offset
        return not witnesses or any(base_offset >= following for base_offset in witnesses)

    def _fills_its_place(self, frame: LocatedBatch) -> bool:
        """Whether the next frame starts where this one would end, were its offset as expected."""
        if self.expected is None or not self._pending:
            return False
        count = frame.header.last_offset_delta + 1
        return self._pending[0].header.base_offset == self.expected + count


def _offset_damage(frame: LocatedBatch, expected: int | None, believed: bool) -> Damage:
    base_offset = frame.header.base_offset
    if expected is None:
        detail = f"base offset {base_offset} contradicts the batches behind it"
    else:
        detail = f"base offset {base_offset}, expected {expected}"
    if believed:
        return Damage(frame.position, 0, DamageKind.OFFSET_GAP, detail)
    return Damage(frame.position, frame.header.size_bytes, DamageKind.OFFSET_MISMATCH, detail)
