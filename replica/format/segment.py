"""A log segment or a snapshot: batches one after another (Kafka: FileRecords, LogSegment).

`scan` reads every byte of a source. Each byte belongs to a batch, to a damage, or to the zeros at
the end of a preallocated segment. Behind a damaged frame the scan continues at the next whole batch
with a valid CRC. The CRC doesn't cover the base offset, so it is compared with the offsets of the
neighbouring batches.
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

_OWN_NAMES = ("position", "crc_valid")
"""The numbers of a LocatedBatch itself. All other numbers belong to its header."""


class ColumnBatches(Sequence[LocatedBatch]):
    """Batches that are held as columns of numbers. An access by index makes a LocatedBatch."""

    @abstractmethod
    def numbers(self, *names: str) -> Iterator[tuple[int, ...]]:
        """The numbers with these names of each batch, as numbers_of gives them."""

    @abstractmethod
    def places_where(self, names: tuple[str, ...], is_wanted: Callable[..., Any]) -> Iterator[int]:
        """The indexes of the wanted batches, ascending, as the function places_where gives them."""


def numbers_of(batches: Sequence[LocatedBatch], *names: str) -> Iterator[tuple[int, ...]]:
    """The numbers with these names of each batch: position, crc_valid, or a field of BatchHeader.
    For ColumnBatches this makes no LocatedBatch."""
    if isinstance(batches, ColumnBatches):
        return batches.numbers(*names)
    paths = [name if name in _OWN_NAMES else f"header.{name}" for name in names]
    if len(paths) == 1:
        return zip(map(attrgetter(paths[0]), batches))
    return map(attrgetter(*paths), batches)


def places_where(
    batches: Sequence[LocatedBatch], names: tuple[str, ...], is_wanted: Callable[..., Any]
) -> Iterator[int]:
    """The indexes in `batches`, ascending, of the batches for whose numbers `is_wanted` is true.

    is_wanted: a function of the numbers of one batch, or of a NumPy array of each number for many
        batches. So it may only compare, and combine comparisons by `&` and `|`. It gets booleans
        for crc_valid and is_control, and at most 2**63 - 1 for an offset.
    """
    if isinstance(batches, ColumnBatches):
        yield from batches.places_where(names, is_wanted)
        return
    for place, numbers in enumerate(numbers_of(batches, *names)):
        if is_wanted(*numbers):
            yield place


def chosen(
    batches: Sequence[LocatedBatch], names: tuple[str, ...], is_wanted: Callable[..., Any]
) -> Iterator[LocatedBatch]:
    """The batches for whose numbers `is_wanted` is true (see places_where)."""
    return (batches[place] for place in places_where(batches, names, is_wanted))


@dataclass(frozen=True, slots=True)
class SegmentScan:
    """The batches and damages of a source, in the order of the file."""

    batches: Sequence[LocatedBatch]
    damages: tuple[Damage, ...]
    end_position: int
    """The byte after the last batch or damage."""
    zero_tail: int
    """The number of zero bytes behind end_position."""
    sparse_until: int = 0
    """The number of bytes at the file's beginning that are known to be sound. `batches` has only
    some of their batches, including the first and the last (replica.format.known_file)."""

    @property
    def new_batches(self) -> Sequence[LocatedBatch]:
        """The batches behind the known bytes."""
        known = bisect_left(self.batches, self.sparse_until, key=lambda batch: batch.position)
        return self.batches[known:]

    @property
    def next_offset_of_known(self) -> int:
        """The offset after the known bytes. Only for a scan with known bytes."""
        return self.batches[-1 - len(self.new_batches)].header.next_offset

    def follows_unlisted(self, batch: LocatedBatch) -> bool:
        """Whether `batches` may lack the sound batch directly before this batch."""
        return 0 < batch.position < self.sparse_until

    @property
    def is_empty(self) -> bool:
        """Whether there are only zeros, as in a new segment."""
        return not self.batches and not self.damages

    @property
    def next_offset(self) -> int | None:
        """The offset after the last batch; None if there is no batch."""
        return self.batches[-1].header.next_offset if self.batches else None


class ScanLog(Protocol):
    """The interface of `scan`. replica.scan.segments has a faster function with equal results."""

    def __call__(
        self, data: Source, *, start: int = 0, expected_offset: int | None = None
    ) -> SegmentScan: ...


class TooManyBatchesError(Exception):
    """The source has more batches than the caller lets a scan hold in memory."""


class JudgedWalk:
    """A walk over the frames of a segment or snapshot, whose base offsets are judged.

    data: the bytes from byte `start` of the file on.
    expected_offset: the base offset of the first batch; None for any.

    The properties are complete after the iteration. Damaged bytes raise no error.
    """

    def __init__(self, data: Source, *, start: int = 0, expected_offset: int | None = None) -> None:
        self._source = byte_source(data)
        self._walk = FrameWalk(self._source, start)
        self._judgement = OffsetJudgement(expected_offset, start)
        self.next_offset: int | None = None
        """The offset after the last batch so far; None before the first."""

    @property
    def damages(self) -> tuple[Damage, ...]:
        """The damages, with their positions in the file."""
        return in_order(self._walk.damages, self._judgement.damages)

    @property
    def end_position(self) -> int:
        """The byte after the last batch or damage so far."""
        return self._walk.start + self._walk.position

    @property
    def zero_tail(self) -> int:
        """The number of zero bytes behind end_position, once the walk has ended."""
        return max(0, self._source.size - self._walk.position)

    def _believed(self, batch: LocatedBatch) -> LocatedBatch:
        self.next_offset = batch.header.next_offset
        return batch


class AnyWalk(JudgedWalk):
    """A walk that iterates once over the batches, in the order of the file."""

    @abstractmethod
    def __iter__(self) -> Iterator[LocatedBatch]: ...


class BatchWalk(AnyWalk):
    """The walk of this module. replica.scan.segments has a faster walk."""

    def __iter__(self) -> Iterator[LocatedBatch]:
        for frame in self._walk.frames():
            yield from map(self._believed, self._judgement.take(frame))
        yield from map(self._believed, self._judgement.rest())


def scan(data: Source, *, start: int = 0, expected_offset: int | None = None) -> SegmentScan:
    """The batches and damages that a BatchWalk over `data` finds. The arguments are those of
    JudgedWalk."""
    return collected(BatchWalk(data, start=start, expected_offset=expected_offset), None)


def collected(walk: AnyWalk, most: int | None) -> SegmentScan:
    """The batches and damages that a walk finds. Raises TooManyBatchesError for more than `most`
    batches; None for no limit."""
    batches: list[LocatedBatch] = []
    for batch in walk:
        batches.append(batch)
        if most is not None and len(batches) > most:
            raise TooManyBatchesError(f"it has more than {most} batches")
    return SegmentScan(tuple(batches), walk.damages, walk.end_position, walk.zero_tail)


def in_order(walked: list[Damage], misplaced: list[Damage]) -> tuple[Damage, ...]:
    """The damages of a walk and of its OffsetJudgement, sorted by their place in the file."""
    return tuple(sorted((*walked, *misplaced), key=lambda damage: damage.position))
