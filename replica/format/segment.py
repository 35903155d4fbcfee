"""A log segment or a snapshot: batches one after another (Kafka: FileRecords, LogSegment).

`scan` walks every byte of a buffer and accounts for it: a batch, a damage, or the zero-filled tail
that a preallocated segment has. Damaged frames do not end the walk: it resumes at the next place
where a whole batch with a right CRC starts. The CRC doesn't cover base offsets, so these are
judged in a second step, by the batches around them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from replica.errors import DataError, TruncatedDataError, UnsupportedDataError
from replica.format.batch import (
    HEADER,
    LENGTH_PREFIX,
    MAGIC_POSITION,
    BatchHeader,
    computed_crc,
    decode_header,
)
from replica.format.damage import Damage, DamageKind

RESYNC_CRC_FACTOR = 4
"""CRC work spent in vain on damaged places, as a multiple of the buffer: bounds hostile input."""
MIN_RESYNC_CRC_BYTES = 64 * 1024 * 1024
"""A small buffer may cost as much as this."""
_ZERO_SEARCH_BYTES = 1024 * 1024
_WITNESSES = 2
"""Batches behind a doubtful base offset that are asked about it."""


@dataclass(frozen=True, slots=True)
class LocatedBatch:
    """A batch and the byte of the file it starts at."""

    position: int
    header: BatchHeader
    crc_valid: bool


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """What one buffer holds, in the order of the file.

    end_position: byte after the last batch or damage; zero_tail: preallocated bytes behind it.
    """

    batches: tuple[LocatedBatch, ...]
    damages: tuple[Damage, ...]
    end_position: int
    zero_tail: int

    @property
    def next_offset(self) -> int | None:
        """The offset after the last batch, None where there is no batch."""
        return self.batches[-1].header.next_offset if self.batches else None


def scan(data: bytes, *, start: int = 0, expected_offset: int | None = None) -> SegmentScan:
    """Walk the batches of `data`, whose first byte is byte `start` of its file.

    expected_offset: base offset that the first batch must have, None where any will do.
    Never raises on damaged bytes: they come back as damages with positions in the file.
    """
    walk = _Walk(data, start)
    walk.run()
    batches, misplaced = _in_order(walk.frames, expected_offset)
    damages = sorted((*walk.damages, *misplaced), key=lambda damage: damage.position)
    return SegmentScan(
        tuple(batches), tuple(damages), start + walk.position, len(data) - walk.position
    )


class _Walk:
    """One pass over the frames of a buffer, by lengths and CRCs; base offsets are not judged."""

    def __init__(self, data: bytes, start: int) -> None:
        self.data = data
        self.view = memoryview(data)
        self.start = start
        self.position = 0
        self.frames: list[LocatedBatch] = []
        self.damages: list[Damage] = []
        self.content_end = _content_end(data)
        self.crc_budget = max(RESYNC_CRC_FACTOR * len(data), MIN_RESYNC_CRC_BYTES)

    def run(self) -> None:
        while self.position < self.content_end:
            header = self._header_here()
            if header is not None:
                self._take(header)

    def _header_here(self) -> BatchHeader | None:
        """The header of a whole batch at the position, or None after the damage was recorded."""
        try:
            header = decode_header(self.data, self.position)
        except TruncatedDataError as error:
            self._skip_damage(DamageKind.TORN_TAIL, error.reason)
        except UnsupportedDataError as error:
            # bytes without a frame of their own are no batch of another magic
            framed = self._frame_fits(self.position)
            kind = DamageKind.UNSUPPORTED_MAGIC if framed else DamageKind.FRAMING
            self._skip_damage(kind, error.reason)
        except DataError as error:
            self._skip_damage(DamageKind.FRAMING, error.reason)
        else:
            if self.position + header.size_bytes <= len(self.data):
                return header
            left = len(self.data) - self.position
            self._skip_damage(
                DamageKind.TORN_TAIL,
                f"batch at offset {header.base_offset} has {left} of its {header.size_bytes} bytes",
            )
        return None

    def _take(self, header: BatchHeader) -> None:
        end = self.position + header.size_bytes
        computed = computed_crc(self.view[self.position : end])
        if computed != header.crc:
            self.crc_budget -= header.size_bytes
            reason = f"stored CRC {header.crc:08x}, computed {computed:08x}"
            # a wrong length may swallow good batches, or end inside one
            if self._next_batch(before=end) is not None or not self._starts_batch(end):
                self._skip_damage(DamageKind.FRAMING, reason)
                return
            detail = f"batch {header.base_offset}-{header.last_offset}: {reason}"
            self._damage(DamageKind.CRC_MISMATCH, end, detail)
        valid = computed == header.crc
        self.frames.append(LocatedBatch(self.start + self.position, header, valid))
        self.position = end

    def _starts_batch(self, position: int) -> bool:
        """Whether a batch could start here, or the data ends (in zeros or at once)."""
        if position >= self.content_end:
            return True
        try:
            header = decode_header(self.data, position)
        except DataError:
            return False
        return position + header.size_bytes <= len(self.data)

    def _skip_damage(self, kind: DamageKind, detail: str) -> None:
        """Record the damage at the position and move on to the next batch with a right CRC."""
        following = self._next_batch(before=len(self.data))
        if following is not None:
            kind, detail = self._before_a_batch(kind, detail, following)
        elif self.crc_budget <= 0:
            kind, detail = DamageKind.FRAMING, f"{detail}; too damaged to search on"
        elif self.content_end - self.position < HEADER.size:
            kind = DamageKind.TORN_TAIL
        end = len(self.data) if following is None else following
        self._damage(kind, end, detail)
        self.position = end

    def _before_a_batch(self, kind: DamageKind, detail: str, end: int) -> tuple[DamageKind, str]:
        size = end - self.position
        if self.data.count(0, self.position, end) == size:
            return DamageKind.ZERO_HOLE, f"{size} zero bytes between batches"
        if kind is DamageKind.TORN_TAIL:
            return DamageKind.FRAMING, f"{detail}, yet a whole batch follows"
        return kind, detail

    def _next_batch(self, *, before: int) -> int | None:
        """The first position after this one where a whole batch with a right CRC starts."""
        pattern = _batch_start(len(self.data))
        at = self.position + 1 + MAGIC_POSITION
        while self.crc_budget > 0:
            found = pattern.search(self.data, at, before)
            if found is None:
                return None
            if self._whole_batch_at(found.start() - MAGIC_POSITION):
                return found.start() - MAGIC_POSITION
            at = found.end()
        return None

    def _whole_batch_at(self, position: int) -> bool:
        if not self._frame_fits(position):
            return False
        try:
            header = decode_header(self.data, position)
        except DataError:
            return False
        batch = self.view[position : position + header.size_bytes]
        if computed_crc(batch) == header.crc:
            return True
        self.crc_budget -= header.size_bytes
        return False

    def _frame_fits(self, position: int) -> bool:
        """Whether the length at the position is that of a batch of any magic within the data."""
        (_, length) = LENGTH_PREFIX.unpack_from(self.data, position)
        # a header of magic 0 is the shortest: its length counts the 14 bytes of an empty record
        return 14 <= int(length) <= len(self.data) - position - LENGTH_PREFIX.size

    def _damage(self, kind: DamageKind, end: int, detail: str) -> None:
        position = self.start + self.position
        self.damages.append(Damage(position, end - self.position, kind, detail))


def _content_end(data: bytes) -> int:
    """The byte after the last one that isn't zero."""
    end = len(data)
    while end > 0:
        begin = max(0, end - _ZERO_SEARCH_BYTES)
        used = len(data[begin:end].rstrip(b"\0"))
        if used:
            return begin + used
        end = begin
    return 0


def _batch_start(size: int) -> re.Pattern[bytes]:
    """Finds the magic byte behind a base offset that isn't negative and a length below `size`.

    As a pattern, so that bytes full of twos are passed at the speed of C.
    """
    longest = re.escape(bytes([min(size >> 24, 0x7F)]))
    return re.compile(rb"\x02(?<=[\x00-\x7f].{7}[\x00-" + longest + rb"].{7}\x02)", re.DOTALL)


def _in_order(
    frames: Sequence[LocatedBatch], expected: int | None
) -> tuple[list[LocatedBatch], list[Damage]]:
    """The frames whose base offsets can be believed, and damages for gaps and for the others.

    A frame with a wrong CRC is kept where its header fits its place; its damage is known already.
    """
    kept: list[LocatedBatch] = []
    damages: list[Damage] = []
    for index, frame in enumerate(frames):
        header = frame.header
        in_place = header.base_offset == expected
        if frame.crc_valid:
            believed = in_place or _is_believed(frames, index, expected)
            if not believed or not (in_place or expected is None):
                damages.append(_offset_damage(frame, expected, believed))
        else:
            dense = header.record_count == header.last_offset_delta + 1
            believed = dense and (in_place or expected is None)
        if believed:
            kept.append(frame)
            expected = header.next_offset
        elif frame.crc_valid and _fills_its_place(frames, index, expected):
            expected = frames[index + 1].header.base_offset
    return kept, damages


def _is_believed(frames: Sequence[LocatedBatch], index: int, expected: int | None) -> bool:
    """Whether a batch that isn't where it is expected may lie behind a gap."""
    header = frames[index].header
    lowest = 0 if expected is None else expected
    if header.base_offset < lowest or _fills_its_place(frames, index, expected):
        return False
    behind = [frame.header.base_offset for frame in frames[index + 1 : index + 1 + _WITNESSES]]
    witnesses = [base_offset for base_offset in behind if base_offset >= lowest]
    return not witnesses or any(base_offset >= header.next_offset for base_offset in witnesses)


def _fills_its_place(frames: Sequence[LocatedBatch], index: int, expected: int | None) -> bool:
    """Whether the next batch starts where this one would end, were its base offset as expected."""
    if expected is None or index + 1 == len(frames):
        return False
    count = frames[index].header.last_offset_delta + 1
    return frames[index + 1].header.base_offset == expected + count


def _offset_damage(frame: LocatedBatch, expected: int | None, believed: bool) -> Damage:
    base_offset = frame.header.base_offset
    if expected is None:
        detail = f"base offset {base_offset} contradicts the batches behind it"
    else:
        detail = f"base offset {base_offset}, expected {expected}"
    if believed:
        return Damage(frame.position, 0, DamageKind.OFFSET_GAP, detail)
    return Damage(frame.position, frame.header.size_bytes, DamageKind.OFFSET_MISMATCH, detail)
