"""Writes text: UTF-8, JSON strings, decimal numbers, base64.

A function that writes takes an output and a position, and returns the position after its text. The
function may overwrite up to tables.SLACK bytes behind this position, and it never writes more bytes
than replica.scan.tables has computed. No function reads beyond the end of the source array.
"""

from __future__ import annotations

import numpy as np

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import (
    byte_at,
    item,
    load_raw64,
    load_u64,
    long,
    store_8,
    store_16,
    store_32,
    store_64,
)
from replica.scan.native import Bytes

HIGH = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_SPACES = np.uint64(0x2020202020202020)
_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)

_URL_SAFE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_PADDED = _URL_SAFE.replace(b"-_", b"+/")
_PAIRS = np.array([_URL_SAFE[i >> 6] | _URL_SAFE[i & 63] << 8 for i in range(4096)], np.int64)
"""Two characters of url-safe base64 for each 12 bits."""
_STANDARD = np.frombuffer(_PADDED, np.uint8).astype(np.int64)
_UP_TO_999 = np.array(
    [int.from_bytes(str(i).encode().ljust(4, b"\0"), "little") for i in range(1000)], np.int64
)
_TWO_DIGITS = np.array([int.from_bytes(b"%02d" % i, "little") for i in range(100)], np.int64)
_SHORT_ESCAPES = np.zeros(128, np.int64)
for _character, _letter in zip(b'"\\\b\t\n\f\r', b'"\\btnfr', strict=True):
    _SHORT_ESCAPES[_character] = _letter
_HEX = np.frombuffer(b"0123456789ABCDEF", np.uint8).astype(np.int64)
_UNICODE_ESCAPE = int.from_bytes(b"\\u00", "little")


@inner
def copy(output: Bytes, to: int, source: Bytes, start: int, size: int) -> int:
    """Copy `size` bytes, 8 at a time. Returns the position after the copy. Less than 8
    bytes before the end of the array `source` are copied one by one."""
    # One loop with two steps: of two loops LLVM would make vector code, which is slower for short
    # copies, and most copies are short.
    end = start + size
    while start < end:
        if start + 8 <= source.size:
            store_64(output, to, load_raw64(source, start))
            taken = min(8, end - start)
        else:
            store_8(output, to, byte_at(source, start))
            taken = 1
        start += taken
        to += taken
    return to


@inner
def is_utf8(source: Bytes, start: int, end: int) -> bool:
    """Whether the bytes are valid UTF-8: Python's bytes.decode accepts them, so they have no
    surrogates and no overlong forms."""
    at = start
    while at + 8 <= end and not load_raw64(source, at) & HIGH:
        at += 8
    while at < end:
        lead = byte_at(source, at)
        at += 1
        if lead < 0x80:
            continue
        if lead < 0xC2 or lead > 0xF4:
            return False
        following = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
        if at + following > end:
            return False
        second = byte_at(source, at)
        lowest = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
        highest = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
        if second < lowest or second > highest:
            return False
        for k in range(1, following):
            if byte_at(source, at + k) & 0xC0 != 0x80:
                return False
        at += following
    return True


@inner
def put_escaped(output: Bytes, to: int, source: Bytes, start: int, size: int) -> int:
    """Write the characters between the quotes of a JSON string, with the escapes that Jackson uses.
    Returns the position after the text."""
    at = start
    end = start + size
    while at < end:
        if at + 8 <= source.size:
            eight = load_raw64(source, at)
            taken = min(8, end - at)
            if not special(eight) & (HIGH >> np.uint64(8 * (8 - taken))):
                store_64(output, to, eight)
                to += taken
                at += taken
                continue
        stop = min(at + 8, end)
        while at < stop:
            to = _put_character(output, to, byte_at(source, at))
            at += 1
    return to


@inner
def special(eight: np.uint64) -> np.uint64:
    """A number in which the high bit of each byte that JSON escapes is set. The high bits of some
    other bytes may be set too, but only above such a byte."""
    quotes = eight ^ _QUOTES
    backslashes = eight ^ _BACKSLASHES
    return (
        ((eight - _SPACES) & ~eight)
        | ((quotes - _ONES) & ~quotes)
        | ((backslashes - _ONES) & ~backslashes)
    )


@inner
def _put_character(output: Bytes, to: int, byte: int) -> int:
    if byte >= 0x20 and byte != 0x22 and byte != 0x5C:
        store_8(output, to, byte)
        return to + 1
    letter = item(_SHORT_ESCAPES, byte)
    if letter:
        store_16(output, to, 0x5C | letter << 8)
        return to + 2
    store_32(output, to, _UNICODE_ESCAPE)
    store_16(output, to + 4, item(_HEX, byte >> 4) | item(_HEX, byte & 15) << 8)
    return to + 6


@inner
def put_integer(output: Bytes, to: int, number: int) -> int:
    """Write a decimal number. Returns the position after the text."""
    rest = np.uint64(number)
    if number < 0:
        store_8(output, to, 0x2D)
        to += 1
        rest = np.uint64(0) - rest
    if rest < np.uint64(1000):
        small = long(rest)
        store_32(output, to, item(_UP_TO_999, small))
        return to + 1 + long(small >= 10) + long(small >= 100)
    digits = 4
    above = rest // np.uint64(10000)
    while above:
        above //= np.uint64(10)
        digits += 1
    at = to + digits
    while rest >= np.uint64(100):
        higher = rest // np.uint64(100)
        at -= 2
        store_16(output, at, item(_TWO_DIGITS, long(rest - higher * np.uint64(100))))
        rest = higher
    if at - to == 2:
        store_16(output, to, item(_TWO_DIGITS, long(rest)))
    else:
        store_8(output, to, 0x30 + long(rest))
    return to + digits


@inner
def _pair(bits: np.uint64, shift: int) -> int:
    return item(_PAIRS, long((bits >> np.uint64(shift)) & np.uint64(0xFFF)))


@inner
def put_uuid(output: Bytes, to: int, source: Bytes, start: int) -> int:
    """Write the 22 characters of the uuid at `start`. Returns the position after the text."""
    high = load_u64(source, start)
    low = load_u64(source, start + 8)
    for k in range(5):
        store_16(output, to + 2 * k, _pair(high, 52 - 12 * k))
    middle = high << np.uint64(60) | low >> np.uint64(4)
    for k in range(5):
        store_16(output, to + 10 + 2 * k, _pair(middle, 52 - 12 * k))
    last = (middle & np.uint64(15)) << np.uint64(8) | (low & np.uint64(15)) << np.uint64(4)
    store_16(output, to + 20, _pair(last, 0))
    return to + 22


@inner
def put_base64(output: Bytes, to: int, source: Bytes, start: int, size: int) -> int:
    """Write padded base64: 4 characters for each 3 bytes or part of 3 bytes. Returns the position
    behind the text."""
    for at in range(start, start + size, 3):
        left = start + size - at
        bits = byte_at(source, at) << 16
        if left > 1:
            bits |= byte_at(source, at + 1) << 8
        if left > 2:
            bits |= byte_at(source, at + 2)
        store_8(output, to, item(_STANDARD, bits >> 18))
        store_8(output, to + 1, item(_STANDARD, bits >> 12 & 63))
        store_8(output, to + 2, item(_STANDARD, bits >> 6 & 63) if left > 1 else 0x3D)
        store_8(output, to + 3, item(_STANDARD, bits & 63) if left > 2 else 0x3D)
        to += 4
    return to
