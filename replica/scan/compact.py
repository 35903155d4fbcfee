"""The batches of a large file as columns of numbers, about 30 bytes for each batch.

A batch as a value (LocatedBatch) takes 560 bytes, and a log of 10 GB has millions of batches. Here
a batch becomes a value only when a caller reads it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, overload

import numpy as np

from replica.format.batch import CONTROL_ATTRIBUTE, LENGTH_PREFIX, MAGIC, BatchHeader
from replica.format.segment import ColumnBatches, TooManyBatchesError, numbers_of
from replica.format.walk import LocatedBatch
from replica.scan import frames
from replica.scan.native import Longs
from replica.scan.regions import Chunk, Region

NAMES = ("position", *BatchHeader._fields, "crc_valid")
"""The columns: the fields of a LocatedBatch, with the fields of the header instead of `header`."""
_PRODUCER_POSITION = 43
"""The place of the producer's three fields in the header of a batch, whose layout is in
replica.format.batch."""
_PRODUCER = np.dtype([("producer_id", ">i8"), ("producer_epoch", ">i2"), ("base_sequence", ">i4")])
_MOST = np.iinfo(np.int64).max
_PAST_DELTA = {"last_offset": 0, "next_offset": 1}
"""Column -> the number that is added to base_offset + last_offset_delta to compute the column."""


class _Column(NamedTuple):
    """A column of numbers."""

    least: int
    """The smallest number of the column; 0 if the differences from the smallest number would need
    64 bits."""
    above: np.ndarray | None
    """The difference between each number and `least`; None if all numbers are equal."""

    @staticmethod
    def of(values: Longs) -> _Column:
        least, most = int(values.min()), int(values.max())
        if least == most:
            return _Column(least, None)
        narrow = np.min_scalar_type(most - least)
        if narrow.itemsize == values.itemsize:
            return _Column(0, values.copy())
        return _Column(least, (values - least).astype(narrow))

    def longs(self, count: int) -> Longs:
        if self.above is None:
            return np.full(count, self.least, np.int64)
        return self.above.astype(np.int64) + self.least

    def value(self, place: int) -> int:
        return self.least if self.above is None else self.least + int(self.above[place])

    def part(self, begin: int, end: int) -> _Column:
        return self if self.above is None else self._replace(above=self.above[begin:end])


class _Piece(NamedTuple):
    """Batches that follow each other, as a column for each of NAMES."""

    size: int
    columns: tuple[_Column, ...]

    @staticmethod
    def of(columns: Sequence[Longs]) -> _Piece:
        return _Piece(len(columns[0]), tuple(map(_Column.of, columns)))

    def batches(self) -> Iterator[LocatedBatch]:
        longs = (column.longs(self.size).tolist() for column in self.columns)
        for position, *header, crc_valid in zip(*longs, strict=True):
            yield LocatedBatch(position, BatchHeader._make(header), bool(crc_valid))

    def batch(self, place: int) -> LocatedBatch:
        position, *header, crc_valid = (column.value(place) for column in self.columns)
        return LocatedBatch(position, BatchHeader._make(header), bool(crc_valid))

    def numbers(self, name: str) -> list[int]:
        """The numbers of one column. name: one of NAMES, or a property of the header that is
        computed from these columns."""
        if name not in _PAST_DELTA:
            column: list[int] = self.array(name).tolist()
            return column
        more = _PAST_DELTA[name]
        both = zip(self.numbers("base_offset"), self.numbers("last_offset_delta"), strict=True)
        return [base + delta + more for base, delta in both]  # a sum may exceed 64 bits

    def array(self, name: str) -> Any:
        """The numbers of one column as a NumPy array for replica.format.segment.places_where. A sum
        that exceeds 64 bits becomes the largest number of 64 bits."""
        if name == "crc_valid":
            return self.array_of("crc_valid") != 0
        if name == "is_control":
            return self.array_of("attributes") & CONTROL_ATTRIBUTE != 0
        if name == "size_bytes":
            return self.array_of("batch_length") + LENGTH_PREFIX.size
        if name in NAMES:
            return self.array_of(name)
        more = self.array_of("last_offset_delta") + _PAST_DELTA[name]
        base = self.array_of("base_offset")
        return np.where(base > _MOST - np.maximum(more, 0), _MOST, base + more)

    def array_of(self, name: str) -> Longs:
        return self.columns[NAMES.index(name)].longs(self.size)

    def part(self, begin: int, end: int) -> _Piece:
        return _Piece(end - begin, tuple(column.part(begin, end) for column in self.columns))


class CompactBatches(ColumnBatches):
    """A sequence of batches, equal to any other sequence of the same batches."""

    __slots__ = ("_ends", "_pieces")

    def __init__(self, pieces: Sequence[_Piece] = ()) -> None:
        self._pieces = tuple(piece for piece in pieces if piece.size)
        self._ends = [*accumulate(piece.size for piece in self._pieces)]

    @staticmethod
    def of(batches: Sequence[LocatedBatch]) -> CompactBatches:
        """The same batches as columns, which take a tenth of the memory of the values."""
        return (
            batches if isinstance(batches, CompactBatches) else CompactBatches(_pieces_of(batches))
        )

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[LocatedBatch]:
        for piece in self._pieces:
            yield from piece.batches()

    @overload
    def __getitem__(self, place: int) -> LocatedBatch: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[LocatedBatch]: ...

    def __getitem__(self, place: int | slice) -> LocatedBatch | Sequence[LocatedBatch]:
        if isinstance(place, slice):
            begin, end, step = place.indices(len(self))
            return self._part(begin, max(begin, end)) if step == 1 else tuple(self)[place]
        number = place + len(self) if place < 0 else place
        if not 0 <= number < len(self):
            raise IndexError(place)
        piece = bisect_right(self._ends, number)
        before = self._ends[piece - 1] if piece else 0
        return self._pieces[piece].batch(number - before)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(one == another for one, another in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def column(self, name: str) -> Longs:
        """The column `name` (of NAMES) of all batches."""
        parts = [piece.array_of(name) for piece in self._pieces]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def numbers(self, *names: str) -> Iterator[tuple[int, ...]]:
        for piece in self._pieces:
            yield from zip(*map(piece.numbers, names), strict=True)

    def places_where(self, names: tuple[str, ...], is_wanted: Callable[..., Any]) -> Iterator[int]:
        for piece, end in zip(self._pieces, self._ends, strict=True):
            wanted = is_wanted(*map(piece.array, names))
            yield from (np.flatnonzero(wanted) + (end - piece.size)).tolist()

    def _part(self, begin: int, end: int) -> CompactBatches:
        pieces = []
        first = bisect_right(self._ends, begin)
        for piece, behind in zip(self._pieces[first:], self._ends[first:], strict=True):
            start = behind - piece.size
            if start >= end:
                break
            low, high = max(begin - start, 0), min(end - start, piece.size)
            pieces.append(piece if high - low == piece.size else piece.part(low, high))
        return CompactBatches(pieces)


def compacted(regions: Iterable[Region], most: int | None) -> CompactBatches:
    """The batches of these regions of a file. Raises TooManyBatchesError for more than `most`
    batches."""
    pieces: list[_Piece] = []
    single: list[LocatedBatch] = []
    count = 0
    for region in regions:
        if isinstance(region, LocatedBatch):
            single.append(region)
            count += 1
        else:
            pieces += (*_pieces_of(single), _Piece.of(_columns_of(region)))
            single.clear()
            count += region.batch_count
        if most is not None and count > most:
            raise TooManyBatchesError(f"it has more than {most} batches")
    return CompactBatches([*pieces, *_pieces_of(single)])


def _pieces_of(batches: Sequence[LocatedBatch]) -> list[_Piece]:
    """The batches as one piece; empty for no batches."""
    return [_Piece.of([column_of(batches, name) for name in NAMES])] if batches else []


def column_of(batches: Sequence[LocatedBatch], name: str) -> Longs:
    """The column `name` (of NAMES) of all batches, whether they are values or columns."""
    if isinstance(batches, CompactBatches):
        return batches.column(name)
    return np.array([number for (number,) in numbers_of(batches, name)], np.int64)


def next_offsets(batches: Sequence[LocatedBatch]) -> Longs:
    """The next offset of each batch: the base offset that the batch behind it must have."""
    return column_of(batches, "base_offset") + column_of(batches, "last_offset_delta") + 1


def _columns_of(chunk: Chunk) -> list[Longs]:
    """The columns of a chunk, in the order of NAMES. The kernel takes only batches with a valid
    CRC."""
    table = chunk.batches[:, : chunk.batch_count]
    at = table[frames.BATCH_POSITION][:, None] + np.arange(
        _PRODUCER_POSITION, _PRODUCER_POSITION + _PRODUCER.itemsize
    )
    producer = np.ascontiguousarray(chunk.array[at]).view(_PRODUCER)[:, 0]
    size = chunk.batch_count
    return [
        table[frames.BATCH_POSITION] + chunk.start,
        table[frames.BATCH_BASE_OFFSET],
        table[frames.BATCH_SIZE] - LENGTH_PREFIX.size,
        table[frames.BATCH_EPOCH],
        np.full(size, MAGIC, np.int64),
        table[frames.BATCH_CRC],
        table[frames.BATCH_ATTRIBUTES],
        table[frames.BATCH_LAST_OFFSET] - table[frames.BATCH_BASE_OFFSET],
        table[frames.BATCH_BASE_TIME],
        table[frames.BATCH_MAX_TIME],
        *(producer[name].astype(np.int64) for name in _PRODUCER.names or ()),
        table[frames.BATCH_COUNT],
        np.ones(size, np.int64),
    ]
