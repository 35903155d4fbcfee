"""The frames of a segment: one batch after another by lengths and CRCs, damage passed over.

Base offsets are not judged here (see replica.format.base_offsets). A walk never holds more of its
source than one block; so a file that is damaged all over costs time, bounded by a budget, and no
memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from replica.errors import DataError, TruncatedDataError, UnsupportedDataError
from replica.format.batch import (
    CRC_START,
    HEADER,
    LENGTH_PREFIX,
    MAGIC_POSITION,
    BatchHeader,
    continued_crc,
    decode_header,
)
from replica.format.byte_source import ByteSource, ShrankError
from replica.format.damage import Damage, DamageKind

RESYNC_CRC_FACTOR = 4
"""CRC work spent in vain on damaged places, as a multiple of the source: bounds hostile input."""
MIN_RESYNC_CRC_BYTES = 64 * 1024 * 1024
"""A small source may cost as much as this."""
_BLOCK_BYTES = 1024 * 1024
_FIRST_BLOCK_BYTES = 4096
"""A search begins with little, as the next batch mostly lies near: its cost is that of the way."""


class LocatedBatch(NamedTuple):
    """A batch and the byte of the file it starts at."""

    position: int
    header: BatchHeader
    crc_valid: bool


class FrameWalk:
    """One pass over the frames of a source, step by step.

    start: the byte of the file that is the source's first; positions in the file are counted from
    the file's begin, `position` from the source's.
    """

    def __init__(self, source: ByteSource, start: int) -> None:
        self.source = source
        self.start = start
        self.position = 0
        self.damages: list[Damage] = []
        self._crc_budget = max(RESYNC_CRC_FACTOR * source.size, MIN_RESYNC_CRC_BYTES)
        self._judged_size = -1
        self._content_end = 0

    def frames(self) -> Iterator[LocatedBatch]:
        """All frames from the position on."""
        while not self.at_end:
            frame = self.step()
            if frame is not None:
                yield frame

    @property
    def at_end(self) -> bool:
        """Whether nothing but the zeros of a preallocated file is left."""
        return self.position >= self.content_end

    @property
    def content_end(self) -> int:
        """The byte after the last one of the source that isn't zero."""
        while self._judged_size != self.source.size:
            try:
                self._judged_size = self.source.size
                self._content_end = self._end_of_content(0, self.source.size)
            except ShrankError:
                continue
        return self._content_end

    def step(self) -> LocatedBatch | None:
        """Read the frame at the position; None where a damage was passed, and at the end."""
        while not self.at_end:
            try:
                header = self._header_here()
                return None if header is None else self._take(header)
            except ShrankError:  # what is left is judged as if it had always ended there
                continue
        return None

    def _header_here(self) -> BatchHeader | None:
        """The header of a whole batch at the position, or None after the damage was recorded."""
        left = self.source.size - self.position
        try:
            header = self._decode_header(self.position)
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
            if header.size_bytes <= left:
                return header
            self._skip_damage(
                DamageKind.TORN_TAIL,
                f"batch at offset {header.base_offset} has {left} of its {header.size_bytes} bytes",
            )
        return None

    def _decode_header(self, position: int) -> BatchHeader:
        size = min(HEADER.size, self.source.size - position)
        return decode_header(self.source.read(position, size))

    def _take(self, header: BatchHeader) -> LocatedBatch | None:
        end = self.position + header.size_bytes
        computed = self._computed_crc(self.position, end)
        if computed != header.crc:
            self._crc_budget -= header.size_bytes
            # neither number is told: by either a guess of what the batch holds could be checked
            reason = "the stored CRC is not that of its bytes"
            # a wrong length may swallow good batches, or end inside one
            if self._next_batch(before=end) is not None or not self._starts_batch(end):
                self._skip_damage(DamageKind.FRAMING, reason)
                return None
            detail = f"batch {header.base_offset}-{header.last_offset}: {reason}"
            self._damage(DamageKind.CRC_MISMATCH, end, detail)
        frame = LocatedBatch(self.start + self.position, header, computed == header.crc)
        self.position = end
        return frame

    def _computed_crc(self, position: int, end: int) -> int:
        checksum = 0
        for begin in range(position + CRC_START, end, _BLOCK_BYTES):
            block = self.source.read(begin, min(_BLOCK_BYTES, end - begin))
            checksum = continued_crc(block, checksum)
        return checksum

    def _starts_batch(self, position: int) -> bool:
        """Whether a batch could start here, or the data ends (in zeros or at once)."""
        if position >= self.content_end:
            return True
        try:
            header = self._decode_header(position)
        except DataError:
            return False
        return position + header.size_bytes <= self.source.size

    def _skip_damage(self, kind: DamageKind, detail: str) -> None:
        """Record the damage at the position and move on to the next batch with a right CRC."""
        following = self._next_batch(before=self.source.size)
        if following is not None:
            kind, detail = self._before_a_batch(kind, detail, following)
        elif self._crc_budget <= 0:
            kind, detail = DamageKind.FRAMING, f"{detail}; too damaged to search on"
        elif self.content_end - self.position < HEADER.size:
            kind = DamageKind.TORN_TAIL
        end = self.source.size if following is None else following
        self._damage(kind, end, detail)
        self.position = end

    def _before_a_batch(self, kind: DamageKind, detail: str, end: int) -> tuple[DamageKind, str]:
        if self._end_of_content(self.position, end) == self.position:
            return DamageKind.ZERO_HOLE, f"{end - self.position} zero bytes between batches"
        if kind is DamageKind.TORN_TAIL:
            return DamageKind.FRAMING, f"{detail}, yet a whole batch follows"
        return kind, detail

    def _next_batch(self, *, before: int) -> int | None:
        """The first position after this one where a whole batch with a right CRC starts."""
        for position in self._likely_batches(before):
            if self._crc_budget <= 0:
                return None
            if self._whole_batch_at(position):
                return position
        return None

    def _likely_batches(self, before: int) -> Iterator[int]:
        """Positions after this one whose magic byte, base offset and length could be a batch's."""
        pattern = _batch_start(self.source.size)
        begin = self.position + 1
        block_bytes = _FIRST_BLOCK_BYTES
        while begin + MAGIC_POSITION < before and self._crc_budget > 0:
            end = min(begin + MAGIC_POSITION + block_bytes, before)
            block = self.source.read(begin, end - begin)
            for found in pattern.finditer(block, MAGIC_POSITION):
                yield begin + found.start() - MAGIC_POSITION
            begin = end - MAGIC_POSITION
            block_bytes = min(2 * block_bytes, _BLOCK_BYTES)

    def _whole_batch_at(self, position: int) -> bool:
        if not self._frame_fits(position):
            return False
        try:
            header = self._decode_header(position)
        except DataError:
            return False
        if self._computed_crc(position, position + header.size_bytes) == header.crc:
            return True
        self._crc_budget -= header.size_bytes
        return False

    def _frame_fits(self, position: int) -> bool:
        """Whether the length at the position is that of a batch of any magic within the data."""
        (_, length) = LENGTH_PREFIX.unpack(self.source.read(position, LENGTH_PREFIX.size))
        # a header of magic 0 is the shortest: its length counts the 14 bytes of an empty record
        return 14 <= int(length) <= self.source.size - position - LENGTH_PREFIX.size

    def _damage(self, kind: DamageKind, end: int, detail: str) -> None:
        position = self.start + self.position
        self.damages.append(Damage(position, end - self.position, kind, detail))

    def _end_of_content(self, begin: int, end: int) -> int:
        """The byte after the last one of begin <= i < end that isn't zero, `begin` for none."""
        while end > begin:
            low = max(begin, end - _BLOCK_BYTES)
            used = len(bytes(self.source.read(low, end - low)).rstrip(b"\0"))
            if used:
                return low + used
            end = low
        return begin


def _batch_start(size: int) -> re.Pattern[bytes]:
    """Finds the magic byte behind a base offset that isn't negative and a length below `size`.

    As a pattern, so that bytes full of twos are passed at the speed of C.
    """
    longest = re.escape(bytes([min(size >> 24, 0x7F)]))
    return re.compile(rb"\x02(?<=[\x00-\x7f].{7}[\x00-" + longest + rb"].{7}\x02)", re.DOTALL)
