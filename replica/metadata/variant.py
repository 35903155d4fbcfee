"""Encodes plain JSON-like values as Spark's VARIANT (Parquet Variant encoding, version 1).

metadata   header byte (version 1, sorted flag, offset width), count of names, offsets, names
value      a header byte whose low two bits say primitive, short string, object or array

The names in the metadata are sorted. Integers and offsets have the shortest encoding, strings of up
to 63 bytes are short strings, and an object's fields are in the order of their names. A float
becomes a double, even if its fraction is zero.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate

from replica.errors import CorruptDataError
from replica.message.json_text import Plain

_VERSION = 1
_SORTED = 0x10
_SHORT_STRING, _OBJECT, _ARRAY = 1, 2, 3
_NULL, _TRUE, _FALSE = b"\x00", b"\x04", b"\x08"
_DOUBLE = struct.Struct("<Bd")
_INTEGERS = (
    (1 << 7, struct.Struct("<Bb"), 3 << 2),
    (1 << 15, struct.Struct("<Bh"), 4 << 2),
    (1 << 31, struct.Struct("<Bi"), 5 << 2),
    (1 << 63, struct.Struct("<Bq"), 6 << 2),
)
_DOUBLE_HEADER = 7 << 2
_LONG_STRING = struct.Struct("<BI")
_LONG_STRING_HEADER = 16 << 2
_MAX_SHORT = 0x3F
_MAX_SMALL_COUNT = 0xFF
_SMALL_INTEGERS = {n: struct.pack("<Bb", 3 << 2, n) for n in range(-128, 128)}


class _Dictionary:
    """The sorted names of a value, and their metadata bytes. shapes: the cached results of
    `shape`."""

    __slots__ = ("id_width", "ids", "metadata", "shapes")

    def __init__(self, names: Iterable[str]) -> None:
        raws = sorted((name.encode(), name) for name in names)
        self.ids = {name: index for index, (_, name) in enumerate(raws)}
        self.id_width = _width(max(0, len(raws) - 1))
        self.metadata = _metadata(tuple(raw for raw, _ in raws))
        self.shapes: dict[tuple[str, ...], tuple[tuple[str, ...], bytes]] = {}

    def shape(self, keys: tuple[str, ...]) -> tuple[tuple[str, ...], bytes]:
        """(the keys in the order of their ids, the ids as bytes)."""
        known = self.shapes.get(keys)
        if known is None:
            ordered = tuple(sorted(keys, key=self.ids.__getitem__))
            width = self.id_width
            known = ordered, b"".join(self.ids[key].to_bytes(width, "little") for key in ordered)
            if len(self.shapes) < 1024:  # only hostile input has more shapes
                self.shapes[keys] = known
        return known


def encode_variant(plain: Plain) -> tuple[bytes, bytes]:
    """(value, metadata): the arguments of pyspark's VariantVal.

    Raises CorruptDataError for an integer beyond 64 bits, and for more than 4 GiB.
    """
    names: set[str] = set()
    _collect_names(plain, names)
    dictionary = _dictionary(frozenset(names))
    return _encode(plain, dictionary), dictionary.metadata


@lru_cache(maxsize=512)
def _dictionary(names: frozenset[str]) -> _Dictionary:
    # cached, because records of one type have few different sets of names
    return _Dictionary(names)


def _collect_names(plain: Plain, names: set[str]) -> None:
    if isinstance(plain, dict):
        names.update(plain)
        for value in plain.values():
            if isinstance(value, dict | list):
                _collect_names(value, names)
    elif isinstance(plain, list):
        for value in plain:
            if isinstance(value, dict | list):
                _collect_names(value, names)


def _width(largest: int) -> int:
    """The number of bytes (1 to 4) that an unsigned number up to `largest` needs."""
    width = max(1, (largest.bit_length() + 7) // 8)
    if width > 4:
        raise CorruptDataError(f"a VARIANT holds at most 4 GiB, this one has {largest} bytes")
    return width


def _unsigned(numbers: list[int], width: int) -> bytes:
    if width == 1:
        return bytes(numbers)
    return b"".join([number.to_bytes(width, "little") for number in numbers])


def _metadata(names: tuple[bytes, ...]) -> bytes:
    offsets = [0, *accumulate(map(len, names))]
    width = _width(max(offsets[-1], len(names)))
    header = _VERSION | _SORTED | (width - 1) << 6
    numbers = _unsigned([len(names), *offsets], width)
    return bytes([header]) + numbers + b"".join(names)


def _encode(plain: Plain, dictionary: _Dictionary) -> bytes:
    if isinstance(plain, str):
        return _encode_string(plain)
    if plain is None:
        return _NULL
    if isinstance(plain, bool):
        return _TRUE if plain else _FALSE
    if isinstance(plain, int):
        return _SMALL_INTEGERS.get(plain) or _encode_integer(plain)
    if isinstance(plain, float):
        return _DOUBLE.pack(_DOUBLE_HEADER, plain)
    if isinstance(plain, list):
        return _encode_array(plain, dictionary)
    return _encode_object(plain, dictionary)


def _encode_string(text: str) -> bytes:
    raw = text.encode()
    if len(raw) <= _MAX_SHORT:
        return bytes((len(raw) << 2 | _SHORT_STRING,)) + raw
    return _LONG_STRING.pack(_LONG_STRING_HEADER, len(raw)) + raw


def _encode_integer(number: int) -> bytes:
    for limit, layout, header in _INTEGERS:
        if -limit <= number < limit:
            return layout.pack(header, number)
    raise CorruptDataError(f"the integer {number} doesn't fit into a VARIANT's 64 bits")


def _offsets(values: list[bytes]) -> tuple[bytes, int]:
    """(the offsets of the values and of their end as bytes, the number of bytes per offset)."""
    offsets = [0, *accumulate(map(len, values))]
    width = _width(offsets[-1])
    return _unsigned(offsets, width), width


def _count(number: int) -> tuple[bytes, int]:
    """(the count as 1 or 4 bytes, the large flag)."""
    if number <= _MAX_SMALL_COUNT:
        return bytes((number,)), 0
    return number.to_bytes(4, "little"), 1


def _encode_array(plain: list[Plain], dictionary: _Dictionary) -> bytes:
    values = [_encode(element, dictionary) for element in plain]
    offsets, width = _offsets(values)
    count, is_large = _count(len(values))
    header = ((is_large << 2) | (width - 1)) << 2 | _ARRAY
    return bytes((header,)) + count + offsets + b"".join(values)


def _encode_object(plain: dict[str, Plain], dictionary: _Dictionary) -> bytes:
    keys, ids = dictionary.shape(tuple(plain))
    values = [_encode(plain[key], dictionary) for key in keys]
    offsets, width = _offsets(values)
    count, is_large = _count(len(values))
    header = ((is_large << 4) | (dictionary.id_width - 1) << 2 | (width - 1)) << 2 | _OBJECT
    return bytes((header,)) + count + ids + offsets + b"".join(values)
