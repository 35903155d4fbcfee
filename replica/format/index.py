"""Sparse indexes beside a segment (Kafka: OffsetIndex, TimeIndex).

    .index      int32 offset relative to the segment's base, int32 byte position of its batch
    .timeindex  int64 largest timestamp (ms) so far, int32 relative offset of the record that has it

Both are preallocated, so a running node's file ends in zero bytes. The time index of a closed
segment may end with an entry that repeats the offset of the one before.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from operator import le, lt

from replica.errors import CorruptDataError
from replica.format.byte_source import end_of_content

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")


@dataclass(frozen=True, slots=True)
class OffsetIndexEntry:
    """relative_offset: the offset of the batch's last record, counted from the segment's base
    offset. position: the batch's first byte."""

    relative_offset: int
    position: int


@dataclass(frozen=True, slots=True)
class TimeIndexEntry:
    """timestamp: ms since the epoch. relative_offset: counted from the segment's base offset."""

    timestamp: int
    relative_offset: int


@dataclass(frozen=True, slots=True)
class OffsetIndex:
    """Entries in order, and the zero bytes that follow them."""

    entries: tuple[OffsetIndexEntry, ...]
    preallocated_bytes: int = 0


@dataclass(frozen=True, slots=True)
class TimeIndex:
    """Entries in order, and the zero bytes that follow them."""

    entries: tuple[TimeIndexEntry, ...]
    preallocated_bytes: int = 0


def decode_offset_index(data: bytes) -> OffsetIndex:
    """The index. Raises CorruptDataError, with the byte, where the end is no whole entry or the
    entries don't rise."""
    pairs, zeros = _decoded(data, OFFSET_ENTRY, "index entry", le)
    if pairs and min(pairs[0]) < 0:
        raise CorruptDataError("index entry is negative", 0)
    return OffsetIndex(tuple(OffsetIndexEntry(*pair) for pair in pairs), zeros)


def decode_time_index(data: bytes) -> TimeIndex:
    """The index. Raises CorruptDataError, with the byte, where the end is no whole entry or an
    entry is lower than the one before."""
    pairs, zeros = _decoded(data, TIME_ENTRY, "time index entry", lt)
    return TimeIndex(tuple(TimeIndexEntry(*pair) for pair in pairs), zeros)


def encode_offset_index(index: OffsetIndex) -> bytes:
    """The file's bytes, preallocation included."""
    entries = (OFFSET_ENTRY.pack(e.relative_offset, e.position) for e in index.entries)
    return b"".join(entries) + bytes(index.preallocated_bytes)


def encode_time_index(index: TimeIndex) -> bytes:
    """The file's bytes, preallocation included."""
    entries = (TIME_ENTRY.pack(e.timestamp, e.relative_offset) for e in index.entries)
    return b"".join(entries) + bytes(index.preallocated_bytes)


def _decoded(
    data: bytes, layout: struct.Struct, what: str, is_wrong: Callable[[int, int], bool]
) -> tuple[list[tuple[int, int]], int]:
    """(the two numbers of each entry, how many zero bytes follow the entries). is_wrong: takes a
    number, and the same number of the entry before; True where it can't follow that number."""
    ragged = len(data) % layout.size
    if ragged:
        raise CorruptDataError(f"{ragged} bytes at the end are no whole entry", len(data) - ragged)
    end = end_of_content(data)
    end += -end % layout.size
    pairs = list(layout.iter_unpack(data[:end]))
    for number, (before, after) in enumerate(pairwise(pairs), start=1):
        if any(map(is_wrong, after, before)):
            reason = f"{what} {after[0]}@{after[1]} follows {before[0]}@{before[1]}"
            raise CorruptDataError(reason, number * layout.size)
    return pairs, len(data) - end
