"""The bytes of a segment or a snapshot, written anew without secrets.

Batches without a secret stay byte for byte. The others keep their offsets, epochs, times and
attributes and get the CRC of their new bytes. Their sizes change, and with that the positions of
all that follows: a secret's length shows nowhere. Damage stays damage of its kind: what a damaged
batch holds is overwritten, its header stays where it can be one, without the CRC.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from replica.errors import DataError, UnsupportedDataError
from replica.format.batch import (
    HEADER,
    MAGIC,
    MIN_RECORD_BYTES,
    BatchHeader,
    computed_crc,
    decode_header,
    encode_header,
    is_plausible,
    with_records,
)
from replica.format.byte_source import InMemory
from replica.format.compression import Inflation, compress
from replica.format.record import Record, encode_records, records_of
from replica.format.walk import FrameWalk
from replica.message.primitives import Buffer
from replica.redacted.records import FILL, RecordRedactor

_SIZES_OF_DAMAGED = 64
"""A damaged batch's size is rounded up to a multiple of so many bytes."""
_LENGTH_END, _MAGIC_AT = 12, 16
"""Bytes from a batch's first one on. Between them is the leader epoch, or an older magic's CRC."""
_NO_HEADER = BatchHeader(0, 0, -1, MAGIC, 0, 0, 0, 0, 0, -1, -1, -1, 0)
_ZEROS = re.compile(rb"\0{64,}")


@dataclass(frozen=True, slots=True)
class RedactedLog:
    """content: the new bytes. moved: (byte of the old file, byte of the new one) of each batch and
    of what lies between batches, rising."""

    content: bytes
    moved: tuple[tuple[int, int], ...]

    def position(self, position: int) -> int:
        """Where the byte of the old file is in the new one; a batch's first byte is exact."""
        if not self.moved:
            return position
        place = max(0, bisect_right(self.moved, position, key=lambda pair: pair[0]) - 1)
        old, new = self.moved[place]
        return new + position - old


def redacted_log(data: Buffer, records: RecordRedactor) -> RedactedLog:
    """All bytes of one .log or .checkpoint file."""
    view = memoryview(data)
    walk = FrameWalk(InMemory(data), 0)
    inflation = Inflation(len(data))
    out = _Output()
    at = 0
    for frame in walk.frames():
        end = frame.position + frame.header.size_bytes
        out.add(at, _overwritten(view[at:], frame.position - at))
        if frame.crc_valid:
            whole = view[frame.position : end]
            out.add(frame.position, _batch(frame.header, whole, records, inflation))
        else:
            out.add(frame.position, _damaged(frame.header))
        at = end
    out.add(at, _overwritten(view[at:], walk.position - at))
    out.add(walk.position, bytes(len(data) - walk.position))
    return RedactedLog(bytes(out.content), tuple(out.moved))


@dataclass
class _Output:
    content: bytearray = field(default_factory=bytearray)
    moved: list[tuple[int, int]] = field(default_factory=list)

    def add(self, old_position: int, part: Buffer) -> None:
        if len(part):
            self.moved.append((old_position, len(self.content)))
            self.content += part


def _batch(
    header: BatchHeader, whole: Buffer, redactor: RecordRedactor, inflation: Inflation
) -> Buffer:
    """A batch with a right CRC; the same bytes where nothing in it had to be replaced."""
    records: list[Record] = []
    is_changed = False
    is_broken = False
    try:
        for record in records_of(header, whole, inflation):
            shown = redactor.redacted(record, is_control=header.is_control)
            is_changed = is_changed or shown is not record
            records.append(shown)
    except DataError:  # what is left of the batch is replaced by what doesn't decode either
        is_broken = True
    if not is_broken and not is_changed:
        return whole
    body = encode_records(records, header.base_offset, header.base_timestamp)
    if is_broken:  # with room for as many records as the header claims
        claimed = min(header.record_count * MIN_RECORD_BYTES, header.size_bytes)
        body += FILL * (1 + max(0, claimed - len(body)) // len(FILL))
    return with_records(header, _compressed(header.codec, body))


def _compressed(codec: int, body: bytes) -> bytes:
    try:
        return compress(codec, body)
    except DataError:  # no codec of Kafka's: nobody could read what was there
        return FILL


def _damaged(header: BatchHeader) -> bytes:
    """A batch of this header whose bytes don't have its CRC, and are none of those it had."""
    surplus = -header.size_bytes % _SIZES_OF_DAMAGED
    header = header._replace(batch_length=header.batch_length + surplus, crc=0)
    content = bytearray(encode_header(header))
    content += bytes(header.size_bytes - len(content))
    if computed_crc(content) == 0:
        content[: HEADER.size] = encode_header(header._replace(crc=1))
    return bytes(content)


def _overwritten(rest: memoryview, size: int) -> bytes:
    """In the place of the first bytes of `rest` as many that nobody can read. What makes a reader
    take their beginning for that of a batch stays, and so do long runs of zeros, which a crash
    leaves."""
    between = rest[:size]
    if not between.tobytes().strip(b"\0"):
        return bytes(between)
    content = bytearray(b"\xff" * size)
    for zeros in _ZEROS.finditer(between):
        content[zeros.start() : zeros.end()] = bytes(zeros.end() - zeros.start())
    kept = _frame_of(rest)[:size]
    content[: len(kept)] = kept
    return bytes(content)


def _frame_of(rest: memoryview) -> bytes:
    """The header, without its CRC; without what follows the magic where it is no batch's of ours,
    and only the numbers that its frame needs where no Kafka could have written it."""
    try:
        header = decode_header(rest)
    except UnsupportedDataError:
        return bytes(rest[:_LENGTH_END]) + b"\xff" * 4 + bytes(rest[_MAGIC_AT : _MAGIC_AT + 1])
    except DataError:
        return b""
    if not is_plausible(header):
        header = _NO_HEADER._replace(
            base_offset=header.base_offset,
            batch_length=header.batch_length,
            last_offset_delta=header.last_offset_delta,
        )
    return encode_header(header._replace(crc=0))
