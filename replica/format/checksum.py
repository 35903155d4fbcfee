"""CRC-32C (Castagnoli), the checksum of Kafka's batches: RFC 3720, appendix B.4.

The package crc32c uses the processor's instruction, at GB per second. The one-file core (a zipapp)
has no compiled code, so it uses tables, at 0.8 MB per second on a slow, busy machine.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache

from replica.message.primitives import Buffer

try:
    import crc32c as _package
except ImportError:
    _package = None  # type: ignore[assignment]

_POLYNOMIAL = 0x82F63B78
"""The polynomial with its bits reversed: the lowest bit is the highest power."""
_ALL = 0xFFFF_FFFF
_WORD = struct.Struct("<I")


def by_tables(data: Buffer, before: int = 0) -> int:
    """The value of crc32c, computed without compiled code, in steps of four bytes."""
    view = memoryview(data).cast("B")
    whole = len(view) - len(view) % _WORD.size
    low, high, single = _tables()
    crc = before ^ _ALL
    for (word,) in _WORD.iter_unpack(view[:whole]):
        crc ^= word
        crc = low[crc & 0xFFFF] ^ high[crc >> 16]
    for byte in view[whole:]:
        crc = single[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ _ALL


@cache
def _tables() -> tuple[list[int], list[int], list[int]]:
    """Three tables: the CRCs of all values of a word's first two bytes, of its last two bytes, and
    of one byte."""
    one = [crc_of_byte(byte) for byte in range(256)]
    two = [one[crc & 0xFF] ^ crc >> 8 for crc in one]
    three = [one[crc & 0xFF] ^ crc >> 8 for crc in two]
    four = [one[crc & 0xFF] ^ crc >> 8 for crc in three]
    low = [four[pair & 0xFF] ^ three[pair >> 8] for pair in range(0x10000)]
    high = [two[pair & 0xFF] ^ one[pair >> 8] for pair in range(0x10000)]
    return low, high, one


def crc_of_byte(byte: int) -> int:
    """The CRC of one byte, without the inversion of bits before and after."""
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


crc32c: Callable[..., int] = getattr(_package, "crc32c", by_tables)
"""A function (data, before=0) that returns the CRC of earlier bytes, whose CRC is `before`, and
`data` together."""
