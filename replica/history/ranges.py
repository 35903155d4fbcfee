"""Sets of offsets as sorted, disjoint, non-empty ranges."""

from __future__ import annotations

from collections.abc import Iterable

from replica.history.log import OffsetRange

Ranges = tuple[OffsetRange, ...]

END_OF_OFFSETS = 2**63
"""The end (exclusive) of all offsets, which are int64 in Kafka."""


def union(*sets: Iterable[OffsetRange]) -> Ranges:
    """Every offset that is in one of `sets`. The ranges may overlap, and may come in any order."""
    ordered = sorted(
        (r for ranges in sets for r in ranges if r.size > 0), key=lambda r: (r.start, r.end)
    )
    joined: list[OffsetRange] = []
    for current in ordered:
        if joined and current.start <= joined[-1].end:
            joined[-1] = OffsetRange(joined[-1].start, max(joined[-1].end, current.end))
        else:
            joined.append(current)
    return tuple(joined)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """The offsets that are in both sets."""
    found: list[OffsetRange] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start, end = max(left[i].start, right[j].start), min(left[i].end, right[j].end)
        if start < end:
            found.append(OffsetRange(start, end))
        if left[i].end <= right[j].end:
            i += 1
        else:
            j += 1
    return tuple(found)


def difference(left: Ranges, right: Ranges) -> Ranges:
    """The offsets of `left` that are not in `right`."""
    found: list[OffsetRange] = []
    j = 0
    for current in left:
        start = current.start
        while j < len(right) and right[j].end <= start:
            j += 1
        k = j
        while k < len(right) and right[k].start < current.end:
            if start < right[k].start:
                found.append(OffsetRange(start, right[k].start))
            start = max(start, right[k].end)
            k += 1
        if start < current.end:
            found.append(OffsetRange(start, current.end))
    return tuple(found)


def below(ranges: Ranges, end: int) -> Ranges:
    """The offsets below `end` (exclusive)."""
    return tuple(OffsetRange(r.start, min(r.end, end)) for r in ranges if r.start < end)


def holds_offset(ranges: Ranges, offset: int) -> bool:
    """Whether the offset is in the set."""
    return any(one.start <= offset < one.end for one in ranges)


def size_of(ranges: Ranges) -> int:
    """The number of offsets in the set."""
    return sum(one.size for one in ranges)
