"""What a hostile producer sends in place of a record batch."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from random import Random

import crc32c

from replica.format.batch import CRC_START, HEADER, MAGIC_POSITION
from replica.format.compression import GZIP, LZ4, SNAPPY, ZSTD, compress
from replica.format.whole_batch import value_batch

VALUE_MARK = b"fuzz "
BOMB_BYTES = 48 * 1024 * 1024
_ATTRIBUTES, _COUNTS = struct.Struct(">h"), struct.Struct(">i")
_AT_LENGTH, _AT_CRC = 8, CRC_START - 4
_AT_LAST_DELTA, _AT_PRODUCER = CRC_START + 2, CRC_START + 22
_AT_COUNT = HEADER.size - 4
_EXTREME = (0, 1, -1, 2**31 - 1, -(2**31), 1_000_000)


def records(chance: Random) -> bytes | None:
    """The records of one partition in a Produce request."""
    return chance.choice(_KINDS)(chance)


def valid(chance: Random) -> bytes:
    """One to three records that no replica has a reason to refuse."""
    values = [VALUE_MARK + chance.randbytes(12) for _ in range(chance.randint(1, 3))]
    return value_batch(0, 0, chance.choice((0, 1, 2**40)), values)


def _with_crc(data: bytearray) -> bytes:
    """The batch with its CRC corrected, so that a decoder reads on beyond the check of the CRC."""
    if len(data) >= HEADER.size:
        _ = struct.pack_into(">I", data, _AT_CRC, crc32c.crc32c(bytes(data[CRC_START:])))
    return bytes(data)


def _changed_header(chance: Random) -> bytes:
    data = bytearray(valid(chance))
    at, layout = chance.choice(
        ((_AT_LAST_DELTA, _COUNTS), (_AT_COUNT, _COUNTS), (CRC_START, _ATTRIBUTES))
    )
    layout.pack_into(
        data, at, chance.choice(_EXTREME) if layout is _COUNTS else chance.randrange(64)
    )
    return _with_crc(data)


def _of_a_producer(chance: Random) -> bytes:
    data = bytearray(valid(chance))
    struct.pack_into(">qhi", data, _AT_PRODUCER, chance.randrange(2**40), 0, chance.randrange(9))
    return _with_crc(data)


def _damaged_inside(chance: Random) -> bytes:
    data = bytearray(valid(chance))
    for _ in range(chance.randint(1, 3)):
        data[chance.randrange(CRC_START, len(data))] = chance.randrange(256)
    return _with_crc(data)


def _wrong_crc(chance: Random) -> bytes:
    data = bytearray(valid(chance))
    data[chance.randrange(_AT_CRC, len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def _wrong_length(chance: Random) -> bytes:
    data = bytearray(valid(chance))
    _COUNTS.pack_into(data, _AT_LENGTH, chance.choice((*_EXTREME, len(data) - 13, len(data))))
    return bytes(data)


def _wrong_magic(chance: Random) -> bytes:
    data = bytearray(valid(chance))
    data[MAGIC_POSITION] = chance.choice((0, 1, 3, 127, 255))
    return _with_crc(data)


def _cut(chance: Random) -> bytes:
    data = valid(chance)
    return data[: chance.randrange(len(data))]


def _compressed_garbage(chance: Random) -> bytes:
    data = bytearray(valid(chance)[: HEADER.size]) + chance.randbytes(chance.randrange(200))
    _ATTRIBUTES.pack_into(data, CRC_START, chance.randrange(1, 8))
    _COUNTS.pack_into(data, _AT_LENGTH, len(data) - 12)
    return _with_crc(data)


def _several(chance: Random) -> bytes:
    return b"".join(valid(chance) for _ in range(chance.randint(2, 5)))


def _large(chance: Random) -> bytes:
    if chance.random() < 0.98:
        return valid(chance)
    return value_batch(0, 0, 0, [VALUE_MARK + bytes(chance.choice((60_000, 1_000_000)))])


def _bomb(chance: Random) -> bytes:
    """A few bytes that inflate to many. These are rare, because each costs the replica a fraction
    of a second."""
    if chance.random() < 0.995:
        return _compressed_garbage(chance)
    codec = chance.choice((GZIP, SNAPPY, LZ4, ZSTD))
    data = bytearray(valid(chance)[: HEADER.size]) + _inflating(codec)
    _ATTRIBUTES.pack_into(data, CRC_START, codec)
    _COUNTS.pack_into(data, _AT_LENGTH, len(data) - 12)
    return _with_crc(data)


@cache
def _inflating(codec: int) -> bytes:
    return compress(codec, bytes(BOMB_BYTES))


_KINDS: tuple[Callable[[Random], bytes | None], ...] = (
    valid,
    _changed_header,
    _of_a_producer,
    _damaged_inside,
    _wrong_crc,
    _wrong_length,
    _wrong_magic,
    _cut,
    _compressed_garbage,
    _several,
    _large,
    _bomb,
    lambda chance: chance.choice((None, b"")),
    lambda chance: chance.randbytes(chance.randrange(300)),
)
