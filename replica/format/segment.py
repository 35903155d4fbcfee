"""A log segment or a snapshot: batches one after another (Kafka: FileRecords, LogSegment).

`scan` walks every byte of a source and accounts for it: a batch, a damage, or the zero-filled tail
that a preallocated segment has. Damaged frames do not end the walk: it resumes at the next place
where a whole batch with a right CRC starts. The CRC doesn't cover base offsets, so these are
judged beside it, by the batches around them.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Protocol

from replica.format.base_offsets import OffsetJudgement
from replica.format.byte_source import Source, byte_source
from replica.format.damage import Damage
from replica.format.walk import FrameWalk, LocatedBatch

__all__ = [
    "AnyWalk",
    "BatchWalk",
    "ColumnBatches",
    "LocatedBatch",
    "ScanLog",
    "SegmentScan",
    "TooManyBatchesError",
    "chosen",
    "numbers_of",
    "places_where",
    "scan",
]
_OWN_NAMES = ("position", "crc_valid")
"""Of a LocatedBatch, whose other numbers are its header's."""


class ColumnBatches(Sequence[LocatedBatch]):
    """Batches that are held as columns of numbers, and made values where they are asked for."""

    @abstractmethod
    def numbers(self, *names: str) -> Iterator[tuple[int, ...]]:
        """See numbers_of."""

    @abstractmethod
    def places_where(self, names: tuple[str, ...], is_wanted: Callable[..., Any]) -> Iterator[int]:
        """See places_where."""


def numbers_of(batches: Sequence[LocatedBatch], *names: str) -> Iterator[tuple[int, ...]]:
    """Some numbers of each batch, two or more: its position, whether its CRC is right, or what its
    header has by that name. No batch that is held in columns is made a value for it."""
    if isinstance(batches, ColumnBatches):
        return batches.numbers(*names)
    get = attrgetter(*(name if name in _OWN_NAMES else f"header.{name}" for name in names))
    return map(get, batches)


def places_where(
    batches: Sequence[LocatedBatch], names: tuple[str, ...], is_wanted: Callable[..., Any]
) -> Iterator[int]:
    """The places in `batches`, ascending, of those whose numbers of these names are wanted.

    is_wanted: takes the numbers of one batch, or a NumPy array of each for many batches at once. So
    it may only compare, and combine comparisons by `&` and `|`. It gets booleans for crc_valid and
    is_control, and at most 2**63 - 1 for an offset.
    """
    if isinstance(batches, ColumnBatches):
        yield from batches.places_where(names, is_wanted)
        return
    for place, numbers in enumerate(numbers_of(batches, *names, names[0])):
        if is_wanted(*numbers[:-1]):
            yield place


def chosen(
    batches: Sequence[LocatedBatch], names: tuple[str, ...], is_wanted: Callable[..., Any]
) -> Iterator[LocatedBatch]:
    """The batches at the places of places_where."""
    return (batches[place] for place in places_where(batches, names, is_wanted))


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """What one buffer holds, in the order of the file.

    end_position: byte after the last batch or damage; zero_tail: preallocated bytes behind it.
    sparse_until: bytes that were known to be sound: of the batches before it, `batches` has only
    those that tell something, the first and the last among them (replica.format.known_file).
    """

    batches: Sequence[LocatedBatch]
    damages: tuple[Damage, ...]
    end_position: int
    zero_tail: int
    sparse_until: int = 0

    @property
    def new_batches(self) -> Sequence[LocatedBatch]:
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
        self, data: Source, *, start: int = 0, expected_offset: int | None = None
    ) -> SegmentScan: ...


class TooManyBatchesError(Exception):
    """A scan was told how many batches it may hold in memory, and there are more."""


class BatchWalk:
    """Iterates once over the batches of a segment or snapshot, in the order of the file.

    data: of which the first byte is byte `start` of the file. expected_offset: base offset that the
    first batch must have, None where any will do. What it says of the file besides is complete once
    it was read to its end. Never raises on damaged bytes.
    """

    def __init__(self, data: Source, *, start: int = 0, expected_offset: int | None = None) -> None:
        self._source = byte_source(data)
        self._walk = FrameWalk(self._source, start)
        self._judgement = OffsetJudgement(expected_offset, start)
        self.next_offset: int | None = None
        """The offset after the last batch so far, None where there was none."""

    def __iter__(self) -> Iterator[LocatedBatch]:
        for frame in self._walk.frames():
            yield from map(self._believed, self._judgement.take(frame))
        yield from map(self._believed, self._judgement.rest())

    @property
    def damages(self) -> tuple[Damage, ...]:
        """What is no batch, or out of order, with positions in the file."""
        return in_order(self._walk.damages, self._judgement.damages)

    @property
    def end_position(self) -> int:
        """See SegmentScan."""
        return self._walk.start + self._walk.position

    @property
    def zero_tail(self) -> int:
        """See SegmentScan."""
        return max(0, self._source.size - self._walk.position)

    def _believed(self, batch: LocatedBatch) -> LocatedBatch:
        self.next_offset = batch.header.next_offset
        return batch


class AnyWalk(Protocol):
    """BatchWalk, or the bulk reader's."""

    def __iter__(self) -> Iterator[LocatedBatch]: ...
    @property
    def next_offset(self) -> int | None: ...
    @property
    def damages(self) -> tuple[Damage, ...]: ...
    @property
    def end_position(self) -> int: ...
    @property
    def zero_tail(self) -> int: ...


def scan(
    data: Source,
    *,
    start: int = 0,
    expected_offset: int | None = None,
    most_batches: int | None = None,
) -> SegmentScan:
    """What a BatchWalk over `data` finds.

    most_batches: TooManyBatchesError where there are more.
    """
    return collected(BatchWalk(data, start=start, expected_offset=expected_offset), most_batches)


def collected(walk: AnyWalk, most: int | None) -> SegmentScan:
    """All that a walk finds. TooManyBatchesError where it is more than `most` batches."""
    batches: list[LocatedBatch] = []
    for batch in walk:
        batches.append(batch)
        if most is not None and len(batches) > most:
            raise TooManyBatchesError(f"it has more than {most} batches")
    return SegmentScan(tuple(batches), walk.damages, walk.end_position, walk.zero_tail)


def in_order(walked: list[Damage], misplaced: list[Damage]) -> tuple[Damage, ...]:
    """The damages of a walk and of a judgement by their place in the file."""
    return tuple(sorted((*walked, *misplaced), key=lambda damage: damage.position))
