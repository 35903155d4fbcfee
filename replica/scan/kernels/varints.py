"""Checked readers of variable-length integers, as in replica.message.primitives.

Each takes (bytes, position, end) and returns (value, position after it). If the value is cut off
at `end`, or is longer than its type allows, the position is NOWHERE. Every later read at NOWHERE
fails too, so a chain of reads needs only one check, at the end of the chain.
"""

from __future__ import annotations

import numpy as np

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import byte_at, long
from replica.scan.native import Bytes

NOWHERE = 1 << 60
"""A position above every end. Any 32-bit length can be added a million times without overflow."""

_MASK_32 = 0xFFFFFFFF


@inner
def unsigned_varint(source: Bytes, position: int, end: int) -> tuple[int, int]:
    """Read a varint without a sign: 0 <= value < 2**32."""
    if position >= end:
        return 0, NOWHERE
    first = byte_at(source, position)
    if first < 0x80:
        return first, position + 1
    return _longer(source, position, end)


@inner
def _longer(source: Bytes, position: int, end: int) -> tuple[int, int]:
    value = 0
    for index in range(5):
        if position + index >= end:
            return 0, NOWHERE
        byte = byte_at(source, position + index)
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & _MASK_32, position + index + 1
    return 0, NOWHERE


@inner
def varint(source: Bytes, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint of 32 bits."""
    value, position = unsigned_varint(source, position, end)
    return (value >> 1) ^ -(value & 1), position


@inner
def varlong(source: Bytes, position: int, end: int) -> tuple[int, int]:
    """Read a zigzag varint of 64 bits."""
    value = np.uint64(0)
    for index in range(10):
        if position + index >= end:
            return 0, NOWHERE
        byte = byte_at(source, position + index)
        value |= np.uint64(byte & 0x7F) << np.uint64(7 * index)
        if byte < 0x80:
            sign = -long(value & np.uint64(1))
            return long(value >> np.uint64(1)) ^ sign, position + index + 1
    return 0, NOWHERE
