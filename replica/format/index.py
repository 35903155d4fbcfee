"""Sparse indexes beside a segment (Kafka: OffsetIndex, TimeIndex).

    .index      int32 offset relative to the segment's base, int32 byte position of its batch
    .timeindex  int64 largest timestamp (ms) so far, int32 relative offset of the record that has it

Both are preallocated, so a running node's file ends in zero bytes. The time index of a closed
segment may end with an entry that repeats the offset of the previous entry.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from operator import le, lt
from typing import TypeVar

from replica.errors import CorruptDataError
from replica.format.byte_source import end_of_content

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
_LOWEST = -(1 << 64)
"""A number that is lower than any number of an entry."""
_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True)
class OffsetIndexEntry:
    """An entry of an .index file."""

    relative_offset: int
    """The offset of the batch's last record, counted from the segment's base offset."""
    position: int
    """The byte of the segment at which the batch begins."""


@dataclass(frozen=True, slots=True)
class TimeIndexEntry:
    """An entry of a .timeindex file."""

    timestamp: int
    """The timestamp, in ms since 1970 (UTC)."""
    relative_offset: int
    """The offset of the record with this timestamp, counted from the segment's base offset."""


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
    """The index. Raises CorruptDataError, with the byte, if the last entry is incomplete or the
    entries don't rise."""
    entries, zeros = _decoded(data, OFFSET_ENTRY, OffsetIndexEntry, "index entry", le)
    if entries and (entries[0].relative_offset < 0 or entries[0].position < 0):
        raise CorruptDataError("index entry is negative", 0)
    return OffsetIndex(entries, zeros)


def decode_time_index(data: bytes) -> TimeIndex:
    """The index. Raises CorruptDataError, with the byte, if the last entry is incomplete or an
    entry is lower than the previous entry."""
    return TimeIndex(*_decoded(data, TIME_ENTRY, TimeIndexEntry, "time index entry", lt))


def encode_offset_index(index: OffsetIndex) -> bytes:
    """The file's bytes, preallocation included."""
    entries = (OFFSET_ENTRY.pack(e.relative_offset, e.position) for e in index.entries)
    return b"".join(entries) + bytes(index.preallocated_bytes)


def encode_time_index(index: TimeIndex) -> bytes:
    """The file's bytes, preallocation included."""
    entries = (TIME_ENTRY.pack(e.timestamp, e.relative_offset) for e in index.entries)
    return b"".join(entries) + bytes(index.preallocated_bytes)


def _decoded(
    data: bytes,
    layout: struct.Struct,
    made: Callable[[int, int], _Entry],
    what: str,
    is_wrong: Callable[[int, int], bool],
) -> tuple[tuple[_Entry, ...], int]:
    """(the entries, the number of zero bytes behind them).

    made: a function that makes an entry from its two numbers.
    what: the name of an entry in errors.
    is_wrong: a function of a number of an entry and the same number of the previous entry; True if
        the first can't follow the second.

    No list of all numbers is made besides the entries: an index of 16 MiB has two million entries.
    Raises CorruptDataError if the data doesn't end with a whole entry, or for a wrong entry.
    """
    ragged = len(data) % layout.size
    if ragged:
        raise CorruptDataError(f"{ragged} bytes at the end are no whole entry", len(data) - ragged)
    end = end_of_content(data)
    end += -end % layout.size
    entries: list[_Entry] = []
    one_before = other_before = _LOWEST
    for one, other in layout.iter_unpack(data[:end]):
        if is_wrong(one, one_before) or is_wrong(other, other_before):
            reason = f"{what} {one}@{other} follows {one_before}@{other_before}"
            raise CorruptDataError(reason, len(entries) * layout.size)
        entries.append(made(one, other))
        one_before, other_before = one, other
    return tuple(entries), len(data) - end
