"""<offset>.snapshot: the idempotent producers of a log at an offset (Kafka: ProducerStateManager).

A KRaft log has no idempotent producers, so its files have no entries. Despite the name these files
aren't metadata snapshots. They hold an int16 version 1, the uint32 CRC-32C of the rest, an int32
count, and the entries of 46 bytes each.
"""

from __future__ import annotations

import struct
from dataclasses import astuple, dataclass

from replica.errors import CorruptDataError, UnsupportedDataError
from replica.format.checksum import crc32c
from replica.message.primitives import require

_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_VERSION = 1


@dataclass(frozen=True, slots=True)
class ProducerEntry:
    """The last batch of a producer. Offsets are absolute and inclusive."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    """The time of the producer's last batch, in ms since 1970 (UTC)."""
    coordinator_epoch: int
    current_transaction_first_offset: int


def decode(data: bytes) -> tuple[ProducerEntry, ...]:
    """The entries in the order of the file. Raises DataError with the byte."""
    require(data, 0, _HEAD.size + _COUNT.size, "producer snapshot")
    version, stored = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise UnsupportedDataError(f"version {version}, expected {_VERSION}", 0)
    computed = crc32c(data[_HEAD.size :])
    if computed != stored:
        raise CorruptDataError(f"stored CRC {stored:08x}, computed {computed:08x}", 2)
    (count,) = _COUNT.unpack_from(data, _HEAD.size)
    entries = data[_HEAD.size + _COUNT.size :]
    if count < 0 or len(entries) != count * _ENTRY.size:
        raise CorruptDataError(f"{count} entries announced in {len(entries)} bytes", _HEAD.size)
    return tuple(ProducerEntry(*values) for values in _ENTRY.iter_unpack(entries))


def encode(entries: tuple[ProducerEntry, ...]) -> bytes:
    """The file's bytes."""
    body = _COUNT.pack(len(entries)) + b"".join(_ENTRY.pack(*astuple(e)) for e in entries)
    return _HEAD.pack(_VERSION, crc32c(body)) + body
