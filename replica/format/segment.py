"""A log segment or a snapshot: batches one after another (Kafka: FileRecords, LogSegment).

`scan` walks every byte of a buffer and accounts for it: a batch, a damage, or the zero-filled tail
that a preallocated segment has. Damaged frames do not end the walk: it resumes at the next place
where a whole batch with a right CRC starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import DataError, TruncatedDataError, UnsupportedDataError
from replica.format.batch import (
    HEADER,
    LENGTH_PREFIX,
    MAGIC,
    MAGIC_POSITION,
    MIN_BATCH_LENGTH,
    BatchHeader,
    computed_crc,
    decode_header,
)
from replica.format.damage import Damage, DamageKind

RESYNC_CRC_FACTOR = 4
"""CRC work spent on finding the next batch, as a multiple of the buffer: bounds hostile input."""
_MAGIC_BYTE = bytes([MAGIC])


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
    walk = _Walk(data, start, expected_offset)
    walk.run()
    return SegmentScan(
        tuple(walk.batches),
        tuple(walk.damages),
        start + walk.position,
        len(data) - walk.position,
    )


class _Walk:
    """One pass over a buffer; its state is the position and the offset that should come next."""

    def __init__(self, data: bytes, start: int, expected_offset: int | None) -> None:
        self.data = data
        self.view = memoryview(data)
        self.start = start
        self.expected = expected_offset
        self.position = 0
        self.batches: list[LocatedBatch] = []
        self.damages: list[Damage] = []
        self.crc_budget = RESYNC_CRC_FACTOR * len(data)

    def run(self) -> None:
        while self.position < len(self.data):
            if self._all_zero_from(self.position):
                return
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
            self._skip_damage(DamageKind.UNSUPPORTED_MAGIC, error.reason)
        except DataError as error:
            self._skip_damage(DamageKind.FRAMING, error.reason)
        else:
            end = self.position + header.size_bytes
            if end <= len(self.data):
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
            reason = f"stored CRC {header.crc:08x}, computed {computed:08x}"
            if not self._starts_batch(end):
                self._skip_damage(DamageKind.FRAMING, reason)
                return
            self._damage(DamageKind.CRC_MISMATCH, self.position, end, self._at(header, reason))
        if self._offset_fits(header, end):
            batch = LocatedBatch(self.start + self.position, header, computed == header.crc)
            self.batches.append(batch)
        self.position = end

    def _offset_fits(self, header: BatchHeader, end: int) -> bool:
        """False where the base offset is wrong, so that the batch must not enter the log."""
        expected = self.expected
        if expected is None or header.base_offset == expected:
            self.expected = header.next_offset
            return True
        detail = f"base offset {header.base_offset}, expected {expected}"
        count = header.last_offset_delta + 1
        if self._base_offset_at(end) == expected + count:
            self.expected = expected + count
        elif header.base_offset > expected:
            self._damage(DamageKind.OFFSET_GAP, self.position, self.position, detail)
            self.expected = header.next_offset
            return True
        self._damage(DamageKind.OFFSET_MISMATCH, self.position, end, detail)
        return False

    def _base_offset_at(self, position: int) -> int | None:
        try:
            return decode_header(self.data, position).base_offset
        except DataError:
            return None

    def _starts_batch(self, position: int) -> bool:
        """Whether a batch could start here, or the data ends (in zeros or at once)."""
        if self._all_zero_from(position):
            return True
        try:
            header = decode_header(self.data, position)
        except DataError:
            return False
        return position + header.size_bytes <= len(self.data)

    def _skip_damage(self, kind: DamageKind, detail: str) -> None:
        """Record the damage at the position and move on to the next batch with a right CRC."""
        following = self._next_batch()
        end = len(self.data) if following is None else following
        if following is not None:
            kind, detail = self._before_a_batch(kind, detail, end)
        elif kind is not DamageKind.UNSUPPORTED_MAGIC and self.batches:
            kind = DamageKind.TORN_TAIL
        self._damage(kind, self.position, end, detail)
        self.position = end

    def _before_a_batch(self, kind: DamageKind, detail: str, end: int) -> tuple[DamageKind, str]:
        size = end - self.position
        if not any(self.view[self.position : end]):
            return DamageKind.ZERO_HOLE, f"{size} zero bytes between batches"
        if kind is DamageKind.TORN_TAIL:
            return DamageKind.FRAMING, f"{detail}, yet a whole batch follows"
        return kind, detail

    def _next_batch(self) -> int | None:
        """The first position after this one where a whole batch with a right CRC starts."""
        at = self.position + 1
        while True:
            magic_at = self.data.find(_MAGIC_BYTE, at + MAGIC_POSITION)
            if magic_at < 0 or self.crc_budget <= 0:
                return None
            at = magic_at - MAGIC_POSITION
            if self._whole_batch_at(at):
                return at
            at += 1

    def _whole_batch_at(self, position: int) -> bool:
        (_, length) = LENGTH_PREFIX.unpack_from(self.data, position)
        end = position + LENGTH_PREFIX.size + length
        if length < MIN_BATCH_LENGTH or end > len(self.data):
            return False
        try:
            header = decode_header(self.data, position)
        except DataError:
            return False
        self.crc_budget -= header.size_bytes
        return computed_crc(self.view[position:end]) == header.crc

    def _all_zero_from(self, position: int) -> bool:
        # a batch that starts with zeros (offset 0) is told apart by its length within 12 bytes
        if any(self.view[position : position + HEADER.size]):
            return False
        return self.data.count(0, position) == len(self.data) - position

    def _at(self, header: BatchHeader, reason: str) -> str:
        return f"batch {header.base_offset}-{header.last_offset}: {reason}"

    def _damage(self, kind: DamageKind, begin: int, end: int, detail: str) -> None:
        self.damages.append(Damage(self.start + begin, end - begin, kind, detail))
