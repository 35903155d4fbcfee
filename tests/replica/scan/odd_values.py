"""Values of metadata records made from the schema, with bytes that are difficult for decoders."""

from __future__ import annotations

import random
import struct

from replica.message.primitives import write_unsigned_varint
from replica.message.schema import Field, Kind
from replica.metadata.records import RECORDS

_LAYOUTS = {
    **{Kind.INT8: "b", Kind.INT16: "h", Kind.INT32: "i", Kind.INT64: "q"},
    **{Kind.UINT16: "H", Kind.UINT32: "I"},
}
_TEXTS = (
    "",
    "a",
    "topic-1",
    "ssl.keystore.password",
    'q"\\u',
    "\x00\n\x7f\x85",
    "é€\U0001f600",
    "x" * 126,
    "x" * 127,
    "x" * 300,
    "\u202e",
    "\u2028",
)
_DOUBLES = (0.0, -0.0, 1e7, 9_999_999.0, 1e300, float("nan"), float("inf"), 1.5, 5e-324, -3.0)
_BLOBS = (0, 1, 2, 3, 30, 46, 47, 48, 49, 100)
_COUNTS = (0, 0, 1, 1, 2, 3, 7, 8, 9, 10, 127, 128)
ODD_VARINTS = (
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x7f",
    b"\xff\xff\xff\xff\x07",
    b"\x80",
    b"\x80\x80\x80\x80\x00",
    b"\x80\x00",
    b"\x81\x00",
    b"\x00",
    b"\xff" * 10,
    b"\x02",
    b"\x80" * 9 + b"\x01",
    b"\x80\x80\x80\x80\x80\x01",
    b"\xff\xff\xff\x7f",
    b"\x7f",
)
"""Varints that are padded, too long, too large or cut off, and some that are
only another number."""
_ODD_ENDS = (
    b"\x01\x00\x01\x00",
    b"\x02\x00\x00\x00\x00",
    b"\x01\x7f\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\x01\x00\xff\xff\xff\xff\x0f",
    b"\x01\x00\x05abcde",
    b"\x01\x01\x04\x00\x00\x00\x00",
)
"""Tagged fields after a value that has none: empty, twice, with sizes beyond the end."""


def varint(number: int) -> bytes:
    out = bytearray()
    write_unsigned_varint(out, number)
    return bytes(out)


def made_value(chance: random.Random) -> bytes:
    """A record of any type and version. Its fields are of the right kind; little else is right."""
    schema = chance.choice(RECORDS)
    version = chance.choice(schema.versions)
    head = b"\x01" + varint(schema.api_key) + varint(version)
    return head + _structure(schema.fields_at(version), version, chance)


def odd_value(value: bytes, chance: random.Random) -> bytes:
    """The value with one to four faults, or another value instead."""
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        value = chance.choice(_CHANGES)(value, chance)
    return value


def _structure(fields: tuple[Field, ...], version: int, chance: random.Random) -> bytes:
    there = [field for field in fields if field.since <= version]
    out = b"".join(_field(field, version, chance) for field in there if field.tag is None)
    tags = [
        (field.tag, _field(field, version, chance))
        for field in there
        if field.tag is not None and chance.random() < 0.6
    ]
    if chance.random() < 0.1:
        tags.append((chance.choice((7, 50, 1000)), chance.randbytes(chance.randint(0, 9))))
    if tags and chance.random() < 0.05:
        tags.append(tags[0])
    if chance.random() < 0.93:
        tags.sort(key=lambda tag: tag[0])
    written = (varint(tag) + varint(len(content)) + content for tag, content in tags)
    return out + varint(len(tags)) + b"".join(written)


def _field(field: Field, version: int, chance: random.Random) -> bytes:
    if not field.is_array:
        return _scalar(field, version, chance)
    if field.is_nullable(version) and chance.random() < 0.15:
        return b"\x00"
    count = chance.choice(_COUNTS)
    if field.kind is Kind.STRUCT:
        elements = [_structure(field.fields, version, chance) for _ in range(count % 16)]
    else:
        elements = [_scalar(field, version, chance) for _ in range(count)]
    return varint(len(elements) + 1) + b"".join(elements)


def _scalar(field: Field, version: int, chance: random.Random) -> bytes:
    kind = field.kind
    if kind in _LAYOUTS:
        return _number(_LAYOUTS[kind], chance)
    if kind is Kind.BOOL:
        return bytes([chance.choice((0, 1, 1, 2, 255))])
    if kind is Kind.FLOAT64:
        return struct.pack(">d", chance.choice(_DOUBLES))
    if kind is Kind.UUID:
        return chance.choice((bytes(16), bytes(15) + b"\1", chance.randbytes(16), b"\xff" * 16))
    if field.is_nullable(version) and chance.random() < 0.2:
        return b"\x00"
    if kind is Kind.BYTES:
        content = chance.randbytes(chance.choice(_BLOBS))
    else:
        content = chance.choice(_TEXTS).encode()
    return varint(len(content) + 1) + content


def _number(layout: str, chance: random.Random) -> bytes:
    bits = 8 * struct.calcsize(layout)
    low, high = (
        (-(1 << bits - 1), (1 << bits - 1) - 1) if layout.islower() else (0, (1 << bits) - 1)
    )
    number = chance.choice((0, 1, 2, 3, -1, low, high, low + 1, chance.randint(-200, 70_000)))
    return struct.pack(f">{layout}", min(max(number, low), high))


def _place(value: bytes, chance: random.Random) -> int:
    return chance.randrange(len(value) + 1)


def _with_varint(value: bytes, chance: random.Random) -> bytes:
    at = _place(value, chance)
    return value[:at] + chance.choice(ODD_VARINTS) + value[at + 1 :]


def _without_some(value: bytes, chance: random.Random) -> bytes:
    at = _place(value, chance)
    return value[:at] + value[at + chance.randint(1, 5) :]


def _of_another_type(value: bytes, chance: random.Random) -> bytes:
    return value[:1] + varint(chance.choice((*range(41), 127, 128, 32_767, 32_768))) + value[2:]


def _of_another_version(value: bytes, chance: random.Random) -> bytes:
    return value[:2] + varint(chance.choice((0, 1, 2, 3, 15, 127, 32_767))) + value[3:]


def _with_odd_tags(value: bytes, chance: random.Random) -> bytes:
    return value[:-1] + chance.choice(_ODD_ENDS)


def _repeated(value: bytes, chance: random.Random) -> bytes:
    at = _place(value, chance)
    return value[:at] + value[at : at + chance.randint(1, 20)] + value[at:]


def _with_zeros(value: bytes, chance: random.Random) -> bytes:
    at = _place(value, chance)
    return value[:at] + bytes(chance.randint(1, 20)) + value[at:]


def _another(value: bytes, chance: random.Random) -> bytes:
    return made_value(chance)


def _spliced(value: bytes, chance: random.Random) -> bytes:
    other = made_value(chance)
    return value[: _place(value, chance)] + other[_place(other, chance) :]


def _cut_another(value: bytes, chance: random.Random) -> bytes:
    other = made_value(chance)
    return other[: _place(other, chance)]


_CHANGES = (
    _with_varint,
    _without_some,
    _of_another_type,
    _of_another_version,
    _with_odd_tags,
    _repeated,
    _with_zeros,
    _another,
    _another,
    _spliced,
    _cut_another,
)
