"""Seeded damage to small segments, for both readers in the property test and the fuzz campaign.

Half of the damage is in bytes below the CRC, which is then corrected, so that the damage reaches
the walk over records and the payload kernels.
"""

from __future__ import annotations

import random
import struct
from pathlib import Path

from replica.format.batch import (
    CRC_START,
    HEADER,
    computed_crc,
    decode_header,
    encode_header,
)
from replica.format.compression import compress
from replica.format.record import Record, RecordHeader, encode_records, records_of
from replica.format.segment import scan
from replica.message.primitives import write_varint, write_varlong
from tests.replica.format.encoded import encode_batch
from tests.replica.scan.odd_values import ODD_VARINTS, made_value, odd_value

LARGEST_BATCH = 4000
_VALUES_PER_BATCH = 4


def recorded_segments(data: Path) -> list[Path]:
    """Every log and snapshot of tests/data."""
    return sorted(
        path
        for pattern in ("*.log", "*.checkpoint", "*.checkpoint.deleted")
        for path in data.rglob(pattern)
    )


class Pool:
    """Batches from which segments are built: recorded batches, and batches with values of every
    type."""

    def __init__(self, data: Path, chance: random.Random) -> None:
        self.batches: list[bytes] = []
        values: list[bytes] = []
        for path in recorded_segments(data):
            raw = path.read_bytes()
            for batch in scan(raw).batches:
                whole = raw[batch.position : batch.position + batch.header.size_bytes]
                if len(whole) <= LARGEST_BATCH:
                    self.batches.append(whole)
                if "generated" in str(path) and not batch.header.is_control:
                    values += [r.value for r in records_of(batch.header, whole) if r.value]
        self.batches = sorted(set(self.batches))
        chance.shuffle(self.batches)
        self.batches = self.batches[:800]
        short = [value for value in values if len(value) < LARGEST_BATCH // _VALUES_PER_BATCH]
        for _ in range(800):
            self.batches.append(made_batch(chance.choices(short, k=_VALUES_PER_BATCH), chance))

    def segment(self, chance: random.Random) -> tuple[bytes, int]:
        """(contiguous batches in good order, the offset of the first)."""
        offset = first = chance.choice((0, 0, 7, 1 << 33, (1 << 63) - 20))
        parts = []
        for _ in range(chance.randint(1, 5)):
            batch = self.batches[chance.randrange(len(self.batches))]
            parts.append(struct.pack(">q", offset) + batch[8:])
            offset = min(offset + decode_header(batch).last_offset_delta + 1, (1 << 63) - 1)
        return b"".join(parts), first


def made_batch(values: list[bytes], chance: random.Random, codec: int = 0) -> bytes:
    """A batch of the given values, some with keys, headers and append times."""
    key = chance.choice((None, None, None, b"", b"key"))
    headers = (RecordHeader("h", b"v"),) if chance.random() < 0.05 else ()
    records = [
        Record(i, 1_700_000_000_000 + chance.randint(-70, 70000), key, value, headers)
        for i, value in enumerate(values)
    ]
    return encode_batch(
        base_offset=0,
        leader_epoch=chance.randrange(9),
        records=compress(codec, encode_records(records, 0, 1_700_000_000_000)),
        record_count=len(records),
        last_offset_delta=len(records) - 1,
        base_timestamp=1_700_000_000_000,
        max_timestamp=1_700_000_000_009,
        attributes=codec | (0x08 if chance.random() < 0.1 else 0),
    )


def with_right_crc(batch: bytes) -> bytes:
    """The batch with its checksum computed anew."""
    return batch[: CRC_START - 4] + struct.pack(">I", computed_crc(batch)) + batch[CRC_START:]


def damaged(segment: bytes, chance: random.Random) -> bytes:
    """The segment with one to three kinds of damage."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        segment = chance.choice(_DAMAGES)(segment, chance)
    return segment


def _spans(segment: bytes) -> list[tuple[int, int]]:
    return [(b.position, b.position + b.header.size_bytes) for b in scan(segment).batches]


def _edit_batch(segment: bytes, chance: random.Random, low: int) -> bytes:
    """The segment with changed bytes from `low` on in one batch, and a corrected CRC."""
    spans = _spans(segment)
    if not spans:
        return segment
    start, end = chance.choice(spans)
    batch = bytearray(segment[start:end])
    for _ in range(chance.choice((1, 1, 2, 4))):
        if low < len(batch):
            at = chance.randrange(low, len(batch))
            batch[at] = _odd_byte(batch[at], chance)
    return segment[:start] + with_right_crc(bytes(batch)) + segment[end:]


def _odd_byte(byte: int, chance: random.Random) -> int:
    step = (byte + chance.choice((-2, -1, 1, 2))) & 0xFF
    return chance.choice((byte ^ 1 << chance.randrange(8), step, 0, 1, 0x7F, 0x80, 0xFF))


def _edit_records(segment: bytes, chance: random.Random) -> bytes:
    return _edit_batch(segment, chance, HEADER.size)


def _edit_header(segment: bytes, chance: random.Random) -> bytes:
    return _edit_batch(segment, chance, chance.choice((CRC_START, 57)))


def _flip(segment: bytes, chance: random.Random) -> bytes:
    data = bytearray(segment)
    for _ in range(chance.choice((1, 1, 3, 9))):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data)


def _edit_values(segment: bytes, chance: random.Random) -> bytes:
    """The segment with cut, stretched or spliced values in new frames, so that only the values are
    odd."""
    spans = _spans(segment)
    if not spans:
        return segment
    start, end = chance.choice(spans)
    header = decode_header(segment, start)
    try:
        records = list(records_of(header, segment[start:end]))
    except Exception:  # noqa: BLE001 - a batch that was damaged before
        return segment
    odd = chance.choice((_odd_value, odd_value))
    values = [odd(record.value or b"", chance) for record in records[:8]]
    batch = made_batch(values, chance, chance.choice((0, 0, 0, 0, 1, 2, 3, 4)))
    return segment[:start] + struct.pack(">q", header.base_offset) + batch[8:] + segment[end:]


def _odd_value(value: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(value) + 1)
    what = chance.randrange(7)
    if what == 0:
        return value[:at]
    if what == 1:
        return value + chance.randbytes(chance.randint(1, 4))
    if what == 2:
        return value[:at] + chance.randbytes(chance.randint(1, 3)) + value[at:]
    if what == 3:
        return value[:at] + 'é\u20ac\U0001f600"\\\n'.encode()[: chance.randint(1, 9)] + value[at:]
    if what == 4 and at < len(value):
        return value[:at] + bytes([_odd_byte(value[at], chance)]) + value[at + 1 :]
    if what == 5 and at < len(value) and value[at] < 0x80:  # a padded varint, if it is one
        return value[:at] + bytes([value[at] | 0x80, 0]) + value[at + 1 :]
    return value


def _cut(segment: bytes, chance: random.Random) -> bytes:
    return segment[: chance.randrange(len(segment) + 1)]


def _garbage(segment: bytes, chance: random.Random) -> bytes:
    at = chance.choice([0, len(segment), *(start for start, _ in _spans(segment))])
    size = chance.choice((1, 11, 61, 200))
    junk = chance.choice((bytes(size), chance.randbytes(size), b"\2" * size, segment[:size]))
    return segment[:at] + junk + segment[at:]


def _zeros(segment: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(segment) + 1)
    size = min(chance.choice((1, 8, 61, 500)), len(segment) - at)
    return segment[:at] + bytes(size) + segment[at + size :]


def _reorder(segment: bytes, chance: random.Random) -> bytes:
    parts = [segment[start:end] for start, end in _spans(segment)]
    if chance.random() < 0.5:
        chance.shuffle(parts)
    elif parts:
        part = chance.choice(parts)
        parts = [p for p in parts if p is not part or chance.random() < 0.5] + [part]
    return b"".join(parts)


def _move_offset(segment: bytes, chance: random.Random) -> bytes:
    spans = _spans(segment)
    if not spans:
        return segment
    start, end = chance.choice(spans)
    header = decode_header(segment, start)
    moved = header.base_offset + chance.choice((-5, -1, 1, 2, 1000))
    moved = chance.choice((moved, 0, (1 << 63) - 1, -1))
    moved = max(min(moved, (1 << 63) - 1), -(1 << 63))
    body = segment[start + HEADER.size : end]
    edited = bytearray(encode_header(header))
    struct.pack_into(">q", edited, 0, moved)
    return segment[:start] + bytes(edited) + body + segment[end:]


def _compress_batch(segment: bytes, chance: random.Random) -> bytes:
    spans = _spans(segment)
    if not spans:
        return segment
    start, end = chance.choice(spans)
    header = decode_header(segment, start)
    body = segment[start + HEADER.size : end]
    codec = chance.choice((1, 2, 3, 4, 5, 7))
    body = compress(codec, body) if codec <= 4 else body  # no such codec
    batch = bytearray(encode_header(header) + body)
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">h", batch, CRC_START, header.attributes & ~7 | codec)
    return segment[:start] + with_right_crc(bytes(batch)) + segment[end:]


def _edit_frames(segment: bytes, chance: random.Random) -> bytes:
    """The segment with other deltas, keys, headers or attributes in frames of records, or without
    values."""
    spans = _spans(segment)
    if not spans:
        return segment
    start, end = chance.choice(spans)
    header = decode_header(segment, start)
    records = [
        (0, 0, n, None, made_value(chance), b"\x00")
        for n in range(chance.choice((1, 2, 9, min(40, header.last_offset_delta + 1))))
    ]
    for _ in range(chance.randint(0, 2)):
        number, part = chance.randrange(len(records)), chance.randrange(6)
        changed = list(records[number])
        changed[part] = chance.choice(_ODD_PARTS[part])
        records[number] = tuple(changed)  # type: ignore[assignment]
    body = b"".join(_frame(*record) for record in records)
    if chance.random() < 0.2:
        at = chance.randrange(12)
        body = body[:at] + chance.choice(ODD_VARINTS) + body[at + 1 :]
    batch = encode_batch(
        base_offset=header.base_offset,
        leader_epoch=header.leader_epoch,
        records=body,
        record_count=len(records),
        last_offset_delta=max(header.last_offset_delta, 0),
        base_timestamp=chance.choice((0, -1, 1_700_000_000_000, *_LONGS)),
        max_timestamp=chance.choice((0, -1, *_LONGS)),
        attributes=chance.choice((0, 0, 0, 8, 0x10, 0x20, 0x28, 0x40, 0x80)),
    )
    return segment[:start] + batch + segment[end:]


def _frame(
    attributes: int, time: int, delta: int, key: bytes | None, value: bytes | None, headers: bytes
) -> bytes:
    body = bytearray([attributes])
    write_varlong(body, time)
    write_varint(body, delta)
    for content in (key, value):
        write_varint(body, -1 if content is None else len(content))
        body += content or b""
    out = bytearray()
    write_varint(out, len(body) + len(headers))
    return bytes(out + body) + headers


def _edit_numbers(segment: bytes, chance: random.Random) -> bytes:
    """The segment with another number in a batch's header, mostly an extreme one."""
    spans = _spans(segment)
    if not spans:
        return segment
    start, end = chance.choice(spans)
    batch = bytearray(segment[start:end])
    at, layout = chance.choice(_HEADER_NUMBERS)
    bits = 8 * struct.calcsize(layout)
    least, greatest = -(1 << bits - 1), (1 << bits - 1) - 1
    (before,) = struct.unpack_from(f">{layout}", batch, at)
    number = chance.choice((0, 1, -1, 2, least, greatest, before + 1, before - 1, 32_768, 32_769))
    struct.pack_into(f">{layout}", batch, at, min(max(number, least), greatest))
    return segment[:start] + with_right_crc(bytes(batch)) + segment[end:]


_LONGS = (-(1 << 63), (1 << 63) - 1)
_ODD_PARTS: tuple[tuple[object, ...], ...] = (
    (1, 127, 255),
    (*_LONGS, 1 << 62, -1),
    (-1, 0, 1, (1 << 31) - 1, -(1 << 31)),
    (b"", b"key"),
    (None, b""),
    (b"\x02\x02a\x02b", b"\x02\x01", b"\x01", b"\xff\xff\xff\xff\x0f", b"\x02\x02\xff\x01", b""),
)
"""Odd parts for attributes, time delta, offset delta, key, value and headers
of a record's frame."""
_HEADER_NUMBERS = (
    (8, "i"),
    (12, "i"),
    (CRC_START, "h"),
    (23, "i"),
    (27, "q"),
    (35, "q"),
    (43, "q"),
    (51, "h"),
    (53, "i"),
    (57, "i"),
)
"""The place and layout of each number of a header, except base offset, magic and CRC."""

_DAMAGES = (
    _edit_records,
    _edit_records,
    _edit_header,
    _edit_values,
    _edit_values,
    _edit_values,
    _flip,
    _cut,
    _garbage,
    _zeros,
    _reorder,
    _move_offset,
    _compress_batch,
    _edit_frames,
    _edit_frames,
    _edit_numbers,
)
