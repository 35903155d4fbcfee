"""The size of a batch of records without keys and headers, computed without encoding it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from replica.format.batch import HEADER

_FIXED_RECORD_BYTES = 4
"""A byte each for the attributes, the timestamp delta 0, the absent key, the count of headers."""


def batch_size(values: Sequence[bytes]) -> int:
    """Bytes on disk of a batch of these record values, uncompressed."""
    return HEADER.size + records_size(values, 0)


def records_size(values: Sequence[bytes], first_delta: int) -> int:
    """Bytes of the records of these values. first_delta: the first one's offset delta.

    Values of one length, whose offset deltas have the same number of bytes, are counted together.
    """
    size, at, end = 0, 0, len(values)
    while at < end:
        delta_bytes = _varint_size(first_delta + at)
        after = min(end, (1 << 7 * delta_bytes - 1) - first_delta)
        lengths = Counter(map(len, values[at:after]))
        size += sum(count * _record_size(n, delta_bytes) for n, count in lengths.items())
        at = after
    return size


def _record_size(length: int, delta_bytes: int) -> int:
    body = _FIXED_RECORD_BYTES + delta_bytes + _varint_size(length) + length
    return _varint_size(body) + body


def _varint_size(number: int) -> int:
    """Bytes of the zigzag varint of a number that isn't negative."""
    return max(1, ((2 * number).bit_length() + 6) // 7)
