"""Decodes Spark's VARIANT, as replica.metadata.variant writes it, to plain JSON-like values."""

from __future__ import annotations

import json
import re
import struct
from itertools import pairwise

from replica.errors import CorruptDataError
from replica.message.json_text import Plain

_PRIMITIVE, _SHORT_STRING, _OBJECT = 0, 1, 2
_CONSTANTS: dict[int, Plain] = {0: None, 1: True, 2: False}
_NUMBERS = {
    3: struct.Struct("<b"),
    4: struct.Struct("<h"),
    5: struct.Struct("<i"),
    6: struct.Struct("<q"),
    7: struct.Struct("<d"),
}
_LONG_STRING = 16
_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|.)")


def decode_variant(value: bytes, metadata: bytes) -> Plain:
    """The value that encode_variant encoded, with an object's fields in the order of their names.

    Raises CorruptDataError for bytes that end too early, and for a type that encode_variant never
    writes, such as a decimal.
    """
    try:
        return _value(value, 0, _names(metadata))
    except (IndexError, UnicodeDecodeError, struct.error) as error:
        raise CorruptDataError(f"a VARIANT's bytes are damaged: {error}") from None


def variant_json(value: bytes, metadata: bytes) -> str:
    """The value as JSON without spaces, with the escapes of replica.message.json_text. Raises
    CorruptDataError for bytes that aren't a VARIANT."""
    plain = decode_variant(value, metadata)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return _ESCAPE.sub(_in_upper_case, text) if "\\u" in text else text


def _in_upper_case(escape: re.Match[str]) -> str:
    return escape[0][:2] + escape[0][2:].upper()


def _names(metadata: bytes) -> list[str]:
    width = (metadata[0] >> 6) + 1
    count = _unsigned(metadata, 1, width)
    ends = [_unsigned(metadata, 1 + width * (place + 1), width) for place in range(count + 1)]
    first = 1 + width * (count + 2)
    return [_text(metadata, first + start, first + end) for start, end in pairwise(ends)]


def _value(raw: bytes, at: int, names: list[str]) -> Plain:
    kind, header = raw[at] & 3, raw[at] >> 2
    if kind == _PRIMITIVE:
        return _primitive(raw, at + 1, header)
    if kind == _SHORT_STRING:
        return _text(raw, at + 1, at + 1 + header)
    if kind == _OBJECT:
        return _object(raw, at + 1, header, names)
    return _array(raw, at + 1, header, names)


def _primitive(raw: bytes, at: int, kind: int) -> Plain:
    if kind in _CONSTANTS:
        return _CONSTANTS[kind]
    if kind in _NUMBERS:
        number: int | float = _NUMBERS[kind].unpack_from(raw, at)[0]
        return number
    if kind == _LONG_STRING:
        return _text(raw, at + 4, at + 4 + _unsigned(raw, at, 4))
    raise CorruptDataError(f"a VARIANT of primitive type {kind} is none that kraftlake writes")


def _object(raw: bytes, at: int, header: int, names: list[str]) -> Plain:
    offset_width, id_width = (header & 3) + 1, (header >> 2 & 3) + 1
    count, at = _count(raw, at, is_large=bool(header >> 4 & 1))
    offsets = at + count * id_width
    values = _values(raw, offsets, count, offset_width)
    return {
        names[_unsigned(raw, at + place * id_width, id_width)]: _value(
            raw, values + _unsigned(raw, offsets + place * offset_width, offset_width), names
        )
        for place in range(count)
    }


def _array(raw: bytes, at: int, header: int, names: list[str]) -> Plain:
    width = (header & 3) + 1
    count, at = _count(raw, at, is_large=bool(header >> 2 & 1))
    values = _values(raw, at, count, width)
    starts = (_unsigned(raw, at + place * width, width) for place in range(count))
    return [_value(raw, values + start, names) for start in starts]


def _values(raw: bytes, offsets: int, count: int, width: int) -> int:
    """The position of the first element. offsets: the position of the table with the beginning of
    each element and the end of the last element."""
    first = offsets + (count + 1) * width
    _part(raw, first, first + _unsigned(raw, first - width, width))
    return first


def _count(raw: bytes, at: int, *, is_large: bool) -> tuple[int, int]:
    """(the number of elements, the position after the count)."""
    width = 4 if is_large else 1
    return _unsigned(raw, at, width), at + width


def _unsigned(raw: bytes, at: int, width: int) -> int:
    return int.from_bytes(_part(raw, at, at + width), "little")


def _text(raw: bytes, start: int, end: int) -> str:
    return _part(raw, start, end).decode()


def _part(raw: bytes, start: int, end: int) -> bytes:
    if not start <= end <= len(raw):
        raise CorruptDataError(
            f"a VARIANT's bytes are damaged: there are {len(raw)}, but a value ends at {end}"
        )
    return raw[start:end]
