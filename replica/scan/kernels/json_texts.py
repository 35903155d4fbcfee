"""The kernel that names the texts of a column that may be no JSON.

A text that it doesn't name is JSON for certain, and no object in it has a key twice. The kernel
also names good JSON of some forms: with the escape \\u, with characters beyond ASCII, with keys
that don't ascend, with long numbers, or nested more deeply than JSON_DEPTH.
"""

from __future__ import annotations

import numpy as np

from replica.scan import tables
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import (
    byte_at,
    item,
    load_i32,
    load_raw64,
    long,
    popcount,
    set_item,
)
from replica.scan.kernels.text import HIGH, special
from replica.scan.native import Bytes, Longs

DOUBT = -1
"""The result in place of a position, for bytes that may be no JSON."""

_IS_OBJECT, _KEY, _KEY_BYTES = range(tables.JSON_COLUMNS)
_LONGEST_NUMBER = 64
_SPACE, _QUOTE, _PLUS, _COMMA, _MINUS, _DOT = 0x20, 0x22, 0x2B, 0x2C, 0x2D, 0x2E
_ZERO, _NINE, _COLON, _BACKSLASH = 0x30, 0x39, 0x3A, 0x5C
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 0x7B, 0x7D, 0x5B, 0x5D
_E, _F = 0x65, 0x66
_CASE = 0x20
"""The bit in which e and E differ. `{` and `[` also differ in this bit alone."""
_IS_ESCAPED = np.zeros(256, np.int64)
_IS_ESCAPED[np.frombuffer(b'"\\/bfnrt', np.uint8)] = 1
_IS_PLAIN = np.zeros(256, np.int64)
_IS_PLAIN[_SPACE:0x80] = 1
_IS_PLAIN[[_QUOTE, _BACKSLASH]] = 0
_NULL, _TRUE, _ALSE = (int.from_bytes(word, "big") for word in (b"null", b"true", b"alse"))


@inner
def _peek(source: Bytes, at: int, end: int) -> int:
    """The byte at this position; if the text has ended there, 0, which JSON doesn't have."""
    return byte_at(source, at) if at < end else long(0)


@inner
def _behind_space(source: Bytes, at: int, end: int) -> int:
    """The position of the next byte that isn't white space of JSON."""
    while at < end:
        byte = byte_at(source, at)
        if byte > _SPACE or (byte != _SPACE and byte != 9 and byte != 10 and byte != 13):
            break
        at += 1
    return at


@inner
def _behind_plain(source: Bytes, at: int, end: int) -> int:
    """The position of the next byte that isn't a plain ASCII character of a JSON string."""
    while at + 8 <= end:
        eight = load_raw64(source, at)
        marks = long((special(eight) | eight) & HIGH)
        if marks:
            return at + (popcount((marks & -marks) - 1) >> 3)
        at += 8
    while at < end and item(_IS_PLAIN, byte_at(source, at)):
        at += 1
    return at


@inner
def _behind_string(source: Bytes, at: int, end: int) -> int:
    """The position after a string whose first character is at `at`; DOUBT if the string may be no
    JSON."""
    while True:
        at = _behind_plain(source, at, end)
        byte = _peek(source, at, end)
        if byte == _QUOTE:
            return at + 1
        if byte != _BACKSLASH:
            return DOUBT
        if not item(_IS_ESCAPED, _peek(source, at + 1, end)):
            return DOUBT
        at += 2


@inner
def _behind_digits(source: Bytes, at: int, end: int) -> int:
    """The position after one digit or more; DOUBT if there is no digit."""
    start = at
    while at < end and byte_at(source, at) >= _ZERO and byte_at(source, at) <= _NINE:
        at += 1
    return at if at > start else DOUBT


@inner
def _behind_number(source: Bytes, at: int, end: int) -> int:
    """The position after a number of at most _LONGEST_NUMBER characters; DOUBT for a longer number
    and for bytes that may be no JSON."""
    end = min(end, at + _LONGEST_NUMBER)
    if _peek(source, at, end) == _MINUS:
        at += 1
    at = at + 1 if _peek(source, at, end) == _ZERO else _behind_digits(source, at, end)
    if at != DOUBT and _peek(source, at, end) == _DOT:
        at = _behind_digits(source, at + 1, end)
    if at != DOUBT and _peek(source, at, end) | _CASE == _E:
        sign = _peek(source, at + 1, end)
        at = _behind_digits(source, at + 1 + long(sign == _PLUS) + long(sign == _MINUS), end)
    return at


@inner
def _behind_scalar(source: Bytes, at: int, end: int) -> int:
    """The position after a value that is no container; DOUBT if the value may be no JSON."""
    byte = _peek(source, at, end)
    if byte == _QUOTE:
        return _behind_string(source, at + 1, end)
    if byte == _MINUS or (byte >= _ZERO and byte <= _NINE):
        return _behind_number(source, at, end)
    if end - at >= 4 and (load_i32(source, at) == _NULL or load_i32(source, at) == _TRUE):
        return at + 4
    if byte == _F and end - at >= 5 and load_i32(source, at + 1) == _ALSE:
        return at + 5
    return DOUBT


@inner
def _ascends(source: Bytes, before: int, size_before: int, key: int, size: int) -> bool:
    for k in range(min(size_before, size)):
        first, second = byte_at(source, before + k), byte_at(source, key + k)
        if first != second:
            return first < second
    return size_before < size


@inner
def _behind_key(source: Bytes, at: int, end: int, stack: Longs, frame: int) -> int:
    """The position after a key and its colon; DOUBT if the bytes may be no JSON, or the key isn't
    larger than the object's previous key."""
    at = _behind_space(source, at, end)
    if _peek(source, at, end) != _QUOTE:
        return DOUBT
    key = at + 1
    at = _behind_plain(source, key, end)
    size = at - key
    before, size_before = item(stack, frame + _KEY), item(stack, frame + _KEY_BYTES)
    if _peek(source, at, end) != _QUOTE or not _ascends(source, before, size_before, key, size):
        return DOUBT
    set_item(stack, frame + _KEY, key)
    set_item(stack, frame + _KEY_BYTES, size)
    at = _behind_space(source, at + 1, end)
    return at + 1 if _peek(source, at, end) == _COLON else DOUBT


@inner
def _behind_ends(source: Bytes, at: int, end: int, stack: Longs, frame: int) -> int:
    """Pass the closing marks, comma and key behind a value. Returns the position of the next value,
    or the position after the outermost value if no container is open any more; DOUBT if the bytes
    may be no JSON.

    at: the position after the value. frame: the frame of the innermost open container. The last
        item of the stack gets the frame that is the innermost one afterwards.
    """
    while True:
        at = _behind_space(source, at, end)
        if frame < 0:
            break
        byte = _peek(source, at, end)
        is_object = item(stack, frame + _IS_OBJECT)
        if byte == _COMMA:
            at = _behind_key(source, at + 1, end, stack, frame) if is_object else at + 1
            break
        if byte != (_CLOSE_OBJECT if is_object else _CLOSE_ARRAY):
            at = DOUBT
            break
        at += 1
        frame -= tables.JSON_COLUMNS
    set_item(stack, stack.size - 1, frame)
    return at


@inner
def _is_certain(source: Bytes, at: int, end: int, stack: Longs) -> bool:
    """Whether the bytes are one JSON text for certain."""
    frame = long(-tables.JSON_COLUMNS)
    while True:
        at = _behind_space(source, at, end)
        byte = _peek(source, at, end)
        if byte | _CASE == _OPEN_OBJECT:
            frame += tables.JSON_COLUMNS
            if frame == tables.JSON_DEPTH * tables.JSON_COLUMNS:
                return False
            is_object = long(byte == _OPEN_OBJECT)
            set_item(stack, frame + _IS_OBJECT, is_object)
            set_item(stack, frame + _KEY, at)
            set_item(stack, frame + _KEY_BYTES, long(-1))
            at = _behind_space(source, at + 1, end)
            if _peek(source, at, end) != (_CLOSE_OBJECT if is_object else _CLOSE_ARRAY):
                if is_object:
                    at = _behind_key(source, at, end, stack, frame)
                if at == DOUBT:
                    return False
                continue
            at += 1
            frame -= tables.JSON_COLUMNS
        else:
            at = _behind_scalar(source, at, end)
            if at == DOUBT:
                return False
        at = _behind_ends(source, at, end, stack, frame)
        frame = item(stack, stack.size - 1)
        if at == DOUBT or frame < 0:
            return at == end


def find_doubtful_texts(
    source: Bytes, offsets: Longs, present: Bytes, low: int, high: int, doubtful: Longs,
    stack: Longs,
) -> int:  # fmt: skip
    """Write to `doubtful` the numbers of the rows from low (inclusive) to high (exclusive) whose
    text may be no JSON. Returns how many they are."""
    count = long(0)
    for row in range(low, high):
        if byte_at(present, row) and not _is_certain(
            source, item(offsets, row), item(offsets, row + 1), stack
        ):
            set_item(doubtful, count, row)
            count += 1
    return count
