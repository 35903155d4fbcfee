"""How many bytes a batch of records without keys and headers takes, before it is encoded."""

from __future__ import annotations

from collections.abc import Sequence

from replica.format.batch import HEADER

_FIXED_RECORD_BYTES = 4
"""Attributes, a timestamp delta of 0, no key, no headers: a byte each."""


def batch_size(values: Sequence[bytes]) -> int:
    """Bytes on disk of a batch of these record values, uncompressed."""
    return HEADER.size + records_size(values, 0)


def records_size(values: Sequence[bytes], first_delta: int) -> int:
    """Bytes of the records; first_delta: offset of the first in its batch."""
    size = 0
    for delta, value in enumerate(values, first_delta):
        body = _FIXED_RECORD_BYTES + _varint_size(delta) + _varint_size(len(value)) + len(value)
        size += _varint_size(body) + body
    return size


def _varint_size(number: int) -> int:
    """How many bytes the zigzag varint of a number from 0 on takes."""
    return max(1, ((2 * number).bit_length() + 6) // 7)
