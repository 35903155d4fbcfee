"""Sparse indexes beside a segment (Kafka: OffsetIndex, TimeIndex).

    .index      int32 offset relative to the segment's base, int32 byte position of its batch
    .timeindex  int64 largest timestamp (ms) so far, int32 relative offset of the record that has it

Both are preallocated, so a running node's file ends in zero bytes. The time index of a closed
segment may end with an entry that repeats the offset of the one before.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise

from replica.errors import CorruptDataError
from replica.format.byte_source import end_of_content

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")


@dataclass(frozen=True, slots=True)
class OffsetIndexEntry:
    """relative_offset: of the batch's last record, from the segment's base offset. position: the
    batch's first byte."""

    relative_offset: int
    position: int


@dataclass(frozen=True, slots=True)
class TimeIndexEntry:
    """timestamp: ms since the epoch. relative_offset: from the segment's base offset."""

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
    used = _used_bytes(data, OFFSET_ENTRY.size)
    entries = tuple(OffsetIndexEntry(*pair) for pair in OFFSET_ENTRY.iter_unpack(data[:used]))
    for index, (before, after) in enumerate(pairwise(entries), start=1):
        if after.relative_offset <= before.relative_offset or after.position <= before.position:
            raise CorruptDataError(
                f"index entry {after.relative_offset}@{after.position} follows "
                f"{before.relative_offset}@{before.position}",
                index * OFFSET_ENTRY.size,
            )
    if entries and (entries[0].relative_offset < 0 or entries[0].position < 0):
        raise CorruptDataError("index entry is negative", 0)
    return OffsetIndex(entries, len(data) - used)


def decode_time_index(data: bytes) -> TimeIndex:
    """The index. Raises CorruptDataError, with the byte, where the end is no whole entry or an
    entry is lower than the one before."""
    used = _used_bytes(data, TIME_ENTRY.size)
    entries = tuple(TimeIndexEntry(*pair) for pair in TIME_ENTRY.iter_unpack(data[:used]))
    for index, (before, after) in enumerate(pairwise(entries), start=1):
        if after.timestamp < before.timestamp or after.relative_offset < before.relative_offset:
            raise CorruptDataError(
                f"time index entry {after.timestamp}@{after.relative_offset} follows "
                f"{before.timestamp}@{before.relative_offset}",
                index * TIME_ENTRY.size,
            )
    return TimeIndex(entries, len(data) - used)


def encode_offset_index(index: OffsetIndex) -> bytes:
    """The file's bytes, preallocation included."""
    entries = (OFFSET_ENTRY.pack(e.relative_offset, e.position) for e in index.entries)
    return b"".join(entries) + bytes(index.preallocated_bytes)


def encode_time_index(index: TimeIndex) -> bytes:
    """The file's bytes, preallocation included."""
    entries = (TIME_ENTRY.pack(e.timestamp, e.relative_offset) for e in index.entries)
    return b"".join(entries) + bytes(index.preallocated_bytes)


def _used_bytes(data: bytes, entry_size: int) -> int:
    """Bytes before the zero tail, rounded up to whole entries."""
    ragged = len(data) % entry_size
    if ragged:
        raise CorruptDataError(f"{ragged} bytes at the end are no whole entry", len(data) - ragged)
    used = end_of_content(data)
    return used + -used % entry_size
