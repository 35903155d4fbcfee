"""Finds the places of the fields of a value, and checks all lengths. Every kernel that reads values
calls `locate` first.

The functions here interpret the programs of replica.scan.tables. A value that they refuse is read
by replica.metadata.codec, so they may refuse rare values that are sound. But the functions must
refuse every value that the codec refuses, so they accept a value only if each of its bytes belongs
to a known field.
"""

from __future__ import annotations

import numpy as np

from replica.message.schema import Kind
from replica.metadata import redact
from replica.metadata.known_configs import KNOWN_CONFIGS
from replica.scan import tables
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import (
    byte_at,
    item,
    load_i8,
    load_i16,
    load_i32,
    load_i64,
    long,
    set_item,
)
from replica.scan.kernels.text import is_utf8
from replica.scan.kernels.varints import NOWHERE, unsigned_varint
from replica.scan.native import Bytes, Longs

ABSENT = -1
"""Stands in place of a position for a tagged field that the record lacks, or that has its default
value."""


@inner
def step_item(step: int, column: int) -> int:
    return item(tables.STEPS, step * tables.STEP_COLUMNS + column)


@inner
def program_item(program: int, column: int) -> int:
    return item(tables.PROGRAMS, program * tables.PROGRAM_COLUMNS + column)


@inner
def read_number(source: Bytes, position: int, kind: int) -> int:
    """The integer or bool at this position. The caller has checked that the bytes of this value
    exist."""
    if kind == tables.INT32:
        return long(load_i32(source, position))
    if kind == tables.INT64:
        return long(load_i64(source, position))
    if kind == tables.INT16:
        return long(load_i16(source, position))
    if kind == tables.INT8:
        return long(load_i8(source, position))
    if kind == tables.UINT16:
        return long(load_i16(source, position)) & 0xFFFF
    if kind == tables.BOOL:
        return long(byte_at(source, position) != 0)
    return long(load_i32(source, position)) & 0xFFFFFFFF


@inner
def pass_text(source: Bytes, position: int, end: int, is_string: bool, nullable: bool) -> int:
    """The position after a compact string or bytes. NOWHERE if the length is impossible."""
    size, start = unsigned_varint(source, position, end)
    if size == 0:
        return start if nullable else NOWHERE
    stop = start + size - 1
    if stop > end or (is_string and not is_utf8(source, start, stop)):
        return NOWHERE
    return stop


@inner
def pass_fixed_array(source: Bytes, position: int, end: int, size: int, nullable: bool) -> int:
    """The position after a compact array of values of `size` bytes. NOWHERE if the length is
    impossible."""
    count, start = unsigned_varint(source, position, end)
    if count == 0:
        return start if nullable else NOWHERE
    stop = start + (count - 1) * size
    return stop if stop <= end else NOWHERE


@inner
def pass_tags(source: Bytes, position: int, end: int) -> int:
    """The position after the count of tagged fields, which must be 0. NOWHERE if there are tagged
    fields: the scalar reader reads such a value, and hides the content of unknown fields."""
    count, at = unsigned_varint(source, position, end)
    return at if count == 0 else NOWHERE


@inner
def _pass_scalar(source: Bytes, position: int, end: int, step: int, nullable: bool) -> int:
    size = step_item(step, tables.STEP_SIZE)
    if size > 0:
        return position + size if position + size <= end else NOWHERE
    is_string = step_item(step, tables.STEP_KIND) == tables.STRING
    return pass_text(source, position, end, is_string, nullable)


@inner
def pass_struct(source: Bytes, position: int, end: int, step: int) -> int:
    """The position after one structure of the array whose step is `step`. NOWHERE if the structure
    is invalid."""
    for within in range(step_item(step, tables.STEP_FIRST), step_item(step, tables.STEP_END)):
        nullable = step_item(within, tables.STEP_NULLABLE) != 0
        position = _pass_scalar(source, position, end, within, nullable)
    return pass_tags(source, position, end)


@inner
def _pass_array(source: Bytes, position: int, end: int, step: int) -> int:
    kind = step_item(step, tables.STEP_KIND)
    nullable = step_item(step, tables.STEP_NULLABLE) != 0
    if kind < tables.TEXT:
        return pass_fixed_array(source, position, end, step_item(step, tables.STEP_SIZE), nullable)
    count, at = unsigned_varint(source, position, end)
    if count == 0:
        return at if nullable else NOWHERE
    for _ in range(count - 1):
        # Each element has a byte at least, so the loop ends at `end` even if the count is false.
        if at >= end:
            return NOWHERE
        if kind == tables.STRUCT:
            at = pass_struct(source, at, end, step)
        else:
            at = _pass_scalar(source, at, end, step, False)
    return at


@inner
def _pass_step(source: Bytes, position: int, end: int, step: int) -> int:
    if step_item(step, tables.STEP_IS_ARRAY):
        return _pass_array(source, position, end, step)
    return _pass_scalar(source, position, end, step, step_item(step, tables.STEP_NULLABLE) != 0)


@inner
def _is_default(source: Bytes, position: int, step: int) -> bool:
    """Whether a tagged field has its default value. The caller has found the end of the field."""
    default = step_item(step, tables.STEP_DEFAULT)
    kind = step_item(step, tables.STEP_KIND)
    if step_item(step, tables.STEP_IS_ARRAY) or kind >= tables.TEXT:
        # The length is read as a varint, because a length of 0 or 1 may be padded to more bytes.
        size, _ = unsigned_varint(source, position, source.size)
        return size == default
    return read_number(source, position, kind) == default


@inner
def _step_of_tag(tag: int, first: int, last: int) -> int:
    for step in range(first, last):
        if step_item(step, tables.STEP_TAG) == tag:
            return step
    return -1


@inner
def locate(source: Bytes, position: int, end: int, program: int, places: Longs) -> bool:
    """Find the places of the fields of the value at `position`, which the program reads. The place
    of the program's k-th step is written to places[k].

    Returns False if the value isn't valid to its last byte, has a tag twice, or has an unknown tag.
    """
    first = program_item(program, tables.PROGRAM_FIRST)
    last = program_item(program, tables.PROGRAM_END)
    at = position
    for step in range(first, last):
        place = ABSENT
        if step_item(step, tables.STEP_TAG) < 0:
            place = at
            at = _pass_step(source, at, end, step)
        set_item(places, step - first, place)
    count, at = unsigned_varint(source, at, end)
    for _ in range(count):
        tag, at = unsigned_varint(source, at, end)
        size, at = unsigned_varint(source, at, end)
        stop = at + size
        if stop > end:
            return False
        step = _step_of_tag(tag, first, last)
        if step < 0 or item(places, step - first) != ABSENT:
            return False
        if _pass_step(source, at, end, step) != stop:
            return False
        if not _is_default(source, at, step):
            set_item(places, step - first, at)
        at = stop
    return at == end


def _plain_names() -> list[bytes]:
    """The sorted names of the configs whose values are shown, unless a value holds user info."""
    assert all(name.isascii() for name in KNOWN_CONFIGS)
    return sorted(name.encode() for name in KNOWN_CONFIGS if not redact.is_secret_config(name))


_PLAIN = _plain_names()
_PLAIN_BYTES = np.frombuffer(b"".join(_PLAIN) + bytes(8), np.uint8)
_PLAIN_PLACES = np.cumsum([0, *(len(name) for name in _PLAIN)]).astype(np.int64)
_COLON, _SLASH, _AT = b":/@"


@inner
def _order(source: Bytes, start: int, end: int, name: int) -> int:
    """Compare the text source[start:end] with the plain name whose number is `name`. The result is
    below 0 if the text comes first, above 0 if the plain name comes first, and 0 if both are
    equal."""
    first, stop = item(_PLAIN_PLACES, name), item(_PLAIN_PLACES, name + 1)
    for k in range(min(end - start, stop - first)):
        difference = long(byte_at(source, start + k)) - long(byte_at(_PLAIN_BYTES, first + k))
        if difference != 0:
            return difference
    return (end - start) - (stop - first)


@inner
def _is_plain_name(source: Bytes, start: int, end: int) -> bool:
    low, high = 0, _PLAIN_PLACES.size - 1
    while low < high:
        middle = (low + high) // 2
        order = _order(source, start, end, middle)
        if order == 0:
            return True
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return False


@inner
def _has_user_info(source: Bytes, start: int, end: int) -> bool:
    """Whether the text has a `://`, and an @ somewhere behind it."""
    in_url = False
    for at in range(start, end):
        byte = byte_at(source, at)
        if byte == _AT and in_url:
            return True
        if byte == _COLON and at + 2 < end:
            slashes = byte_at(source, at + 1) == _SLASH and byte_at(source, at + 2) == _SLASH
            in_url = in_url or slashes
    return False


_CONFIG_FIELDS = [
    (step.name, step.kind) for step in tables.KERNEL_PROGRAMS[tables.CONFIG_PROGRAM].steps
]
assert [
    ("resourceType", Kind.INT8),
    *((name, Kind.STRING) for name in ("resourceName", "name", "value")),
] == _CONFIG_FIELDS, "is_telling_config knows where name and value lie"


@inner
def is_telling_config(source: Bytes, position: int, end: int) -> bool:
    """Whether the CONFIG_RECORD whose fields start at `position` may hold a secret.

    The result is also True for some configs without a secret: configs of listeners, and configs
    that the user has named as no secrets.
    """
    name = pass_text(source, position + 1, end, True, False)
    value = pass_text(source, name, end, True, False)
    behind = pass_text(source, value, end, True, True)
    if behind > end or value > end or name > end:
        return True
    size, start = unsigned_varint(source, name, end)
    if not _is_plain_name(source, start, start + size - 1):
        return True
    size, start = unsigned_varint(source, value, end)
    return _has_user_info(source, start, start + size - 1)
