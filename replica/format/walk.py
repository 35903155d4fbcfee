"""Reads the frames of a segment: one batch after another, by lengths and CRCs. Damage is recorded
and skipped.

replica.format.base_offsets judges the base offsets. A walk never holds more than one block of its
source in memory, and spends a bounded time on damage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from replica.errors import DataError, TruncatedDataError, UnsupportedDataError
from replica.format.batch import HEADER, BatchHeader, decode_header
from replica.format.byte_source import ByteSource, ShrankError, end_of_content
from replica.format.damage import Damage, DamageKind
from replica.format.resync import BLOCK_BYTES, BatchSearch

_TOO_DAMAGED = "too damaged to check every place where a batch could start"


class LocatedBatch(NamedTuple):
    """A batch, and the byte of the file at which it starts."""

    position: int
    header: BatchHeader
    crc_valid: bool


class FrameWalk:
    """One pass over the frames of a source, step by step.

    start: the byte of the file at which the source begins.
    position: the current byte of the source.

    The positions of batches and damages count from the beginning of the file.
    """

    def __init__(self, source: ByteSource, start: int) -> None:
        self.source = source
        self.start = start
        self.position = 0
        self.damages: list[Damage] = []
        self._search = BatchSearch(source)
        self._judged_size = -1
        self._content_end = 0

    def frames(self) -> Iterator[LocatedBatch]:
        """All frames from `position` on."""
        while not self.at_end:
            frame = self.step()
            if frame is not None:
                yield frame

    @property
    def at_end(self) -> bool:
        """Whether only zeros are left, as in a preallocated file."""
        return self.position >= self.content_end

    @property
    def content_end(self) -> int:
        """The position after the source's last byte that isn't zero."""
        while self._judged_size != self.source.size:
            try:
                self._judged_size = self.source.size
                self._content_end = self._end_of_content(0, self.source.size)
            except ShrankError:
                continue
        return self._content_end

    @property
    def takes_any_batch(self) -> bool:
        """Whether `step` still computes the CRC of every batch from `position` on.

        False after false headers have used up the credit of the walk (see replica.format.resync).
        """
        return self._search.credit(self.position) >= self.source.size - self.position

    def skip_to(self, position: int) -> None:
        """Continue at this byte of the source: another reader has taken all batches before it."""
        self.position = position

    def step(self) -> LocatedBatch | None:
        """Read the frame at `position`. Returns None if it skipped a damage, and at the end."""
        while not self.at_end:
            try:
                header = self._header_here()
                return None if header is None else self._take(header)
            except ShrankError:  # continue as if the file had always ended there
                continue
        return None

    def _header_here(self) -> BatchHeader | None:
        """The header of the whole batch at `position`. If there is no whole batch, records a damage
        and returns None."""
        left = self.source.size - self.position
        try:
            header = self._decode_header(self.position)
        except TruncatedDataError as error:
            self._skip_damage(DamageKind.TORN_TAIL, error.reason)
        except UnsupportedDataError as error:
            # a batch of another magic also has a length that fits
            framed = self._search.frame_fits(self.position)
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
        size, end = header.size_bytes, self.position + header.size_bytes
        if size > self._search.credit(self.position):
            self._skip_damage(DamageKind.FRAMING, f"batch of {size} bytes: {_TOO_DAMAGED}")
            return None
        computed = self._search.computed_crc(self.position, size)
        if computed != header.crc:
            # The reason shows no CRC, because a reader could check a guess of a secret with it
            reason = "the stored CRC is not that of its bytes"
            # the length may be wrong: then valid batches are inside, or the end is inside a batch
            inside = self._search.first_batch(self.position + 1, end)
            if inside is not None or not self._may_follow(end):
                self._search.charge(size)
                self._skip_damage(DamageKind.FRAMING, reason, inside)
                return None
            detail = f"batch {header.base_offset}-{header.last_offset}: {reason}"
            self._damage(DamageKind.CRC_MISMATCH, end, detail)
        frame = LocatedBatch(self.start + self.position, header, computed == header.crc)
        self.position = end
        return frame

    def _may_follow(self, end: int) -> bool:
        """Whether a batch could start at byte `end`, or only zeros follow there."""
        return end >= self.content_end or self._search.starts_batch(end)

    def _skip_damage(self, kind: DamageKind, detail: str, following: int | None = None) -> None:
        """Record the damage at `position`, and move to the next batch with a valid CRC.

        following: the position of this batch; None if it is unknown.
        """
        if following is None:
            following = self._search.first_batch(self.position + 1, self.source.size)
        if self._search.left_out:
            kind, detail = DamageKind.FRAMING, f"{detail}; {_TOO_DAMAGED}"
        elif following is not None:
            kind, detail = self._before_a_batch(kind, detail, following)
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

    def _damage(self, kind: DamageKind, end: int, detail: str) -> None:
        position = self.start + self.position
        self.damages.append(Damage(position, end - self.position, kind, detail))

    def _end_of_content(self, begin: int, end: int) -> int:
        """The position after the last byte from `begin` (inclusive) to `end` (exclusive) that isn't
        zero; `begin` if all bytes are zero."""
        while end > begin:
            low = max(begin, end - BLOCK_BYTES)
            used = end_of_content(bytes(self.source.read(low, end - low)))
            if used:
                return low + used
            end = low
        return begin
