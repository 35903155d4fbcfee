"""The size of a batch of records without keys and headers, computed without encoding it."""

from __future__ import annotations

from collections.abc import Sequence

from replica.format.batch import HEADER

_FIXED_RECORD_BYTES = 4
"""A byte each for the attributes, the timestamp delta 0, the absent key, the count of headers."""


def batch_size(values: Sequence[bytes]) -> int:
    """Bytes on disk of a batch of these record values, uncompressed."""
    return HEADER.size + records_size(values, 0)


def records_size(values: Sequence[bytes], first_delta: int) -> int:
    """Bytes of the records of these values. first_delta: the first one's offset delta."""
    size = 0
    for delta, value in enumerate(values, first_delta):
        body = _FIXED_RECORD_BYTES + _varint_size(delta) + _varint_size(len(value)) + len(value)
        size += _varint_size(body) + body
    return size


def _varint_size(number: int) -> int:
    """Bytes of the zigzag varint of a number that isn't negative."""
    return max(1, ((2 * number).bit_length() + 6) // 7)
