"""A log segment or a snapshot: batches one after another (Kafka: FileRecords, LogSegment).

`scan` walks every byte of a buffer and accounts for it: a batch, a damage, or the zero-filled tail
that a preallocated segment has. Damaged frames do not end the walk: it resumes at the next place
where a whole batch with a right CRC starts. The CRC doesn't cover base offsets, so these are
judged beside it, by the batches around them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from replica.format.base_offsets import OffsetJudgement
from replica.format.byte_source import InMemory
from replica.format.damage import Damage
from replica.format.walk import FrameWalk, LocatedBatch
from replica.message.primitives import Buffer

__all__ = ["LocatedBatch", "ScanLog", "SegmentScan", "TooManyBatchesError", "scan"]


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """What one buffer holds, in the order of the file.

    end_position: byte after the last batch or damage; zero_tail: preallocated bytes behind it.
    sparse_until: bytes that were known to be sound: of the batches before it, `batches` has only
    those that tell something, the first and the last among them (replica.format.known_file).
    """

    batches: tuple[LocatedBatch, ...]
    damages: tuple[Damage, ...]
    end_position: int
    zero_tail: int
    sparse_until: int = 0

    @property
    def new_batches(self) -> tuple[LocatedBatch, ...]:
        """Those behind the bytes that were known."""
        known = bisect_left(self.batches, self.sparse_until, key=lambda batch: batch.position)
        return self.batches[known:]

    @property
    def next_offset_of_known(self) -> int:
        """The offset after the bytes that were known, of which there are some."""
        return self.batches[-1 - len(self.new_batches)].header.next_offset

    def follows_unlisted(self, batch: LocatedBatch) -> bool:
        """Whether sound batches before this one, in the same file, may be left out."""
        return 0 < batch.position < self.sparse_until

    @property
    def next_offset(self) -> int | None:
        """The offset after the last batch, None where there is no batch."""
        return self.batches[-1].header.next_offset if self.batches else None


class ScanLog(Protocol):
    """A port: `scan`, or a faster reader of the same value (replica.scan.segments)."""

    def __call__(
        self, data: Buffer, *, start: int = 0, expected_offset: int | None = None
    ) -> SegmentScan: ...


class TooManyBatchesError(Exception):
    """A scan was told how many batches it may hold in memory, and there are more."""


def scan(
    data: Buffer,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    most_batches: int | None = None,
) -> SegmentScan:
    """Walk the batches of `data`, whose first byte is byte `start` of its file.

    expected_offset: base offset that the first batch must have, None where any will do.
    most_batches: TooManyBatchesError where there are more.
    Never raises on damaged bytes: they come back as damages with positions in the file.
    """
    walk = FrameWalk(InMemory(data), start)
    judgement = OffsetJudgement(expected_offset, start)
    batches: list[LocatedBatch] = []
    for frame in walk.frames():
        batches.extend(judgement.take(frame))
        bound_batches(batches, most_batches)
    batches.extend(judgement.rest())
    return SegmentScan(
        tuple(batches),
        in_order(walk.damages, judgement.damages),
        start + walk.position,
        len(data) - walk.position,
    )


def bound_batches(batches: Sequence[LocatedBatch], most: int | None) -> None:
    """TooManyBatchesError where there are more than `most`."""
    if most is not None and len(batches) > most:
        raise TooManyBatchesError(f"it has more than {most} batches")


def in_order(walked: list[Damage], misplaced: list[Damage]) -> tuple[Damage, ...]:
    """The damages of a walk and of a judgement by their place in the file."""
    return tuple(sorted((*walked, *misplaced), key=lambda damage: damage.position))
