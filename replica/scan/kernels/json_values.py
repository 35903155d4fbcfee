"""Writes Kafka's JSON: functions for single values, and the interpreter for whole records.

The JSON is the same as that of replica.metadata.json_text. Before a function here reads a value,
`locate` has checked it. replica.scan.tables computes how much room the outputs need.
"""

from __future__ import annotations

import numpy as np

from replica.scan import tables
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import (
    ABSENT,
    locate,
    pass_tags,
    program_item,
    read_number,
    step_item,
)
from replica.scan.kernels.memory import (
    byte_at,
    item,
    load_double,
    load_i32,
    load_i64,
    long,
    store_8,
    store_16,
    store_32,
)
from replica.scan.kernels.text import copy, put_base64, put_escaped, put_integer, put_uuid
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes, Longs

REFUSED = -1

_QUOTE, _COMMA, _OPEN, _CLOSE = b'",[]'
_BRACE, _END_BRACE = b"{}"
_NULL = int.from_bytes(b"null", "little")
_TRUE = int.from_bytes(b"true", "little")
_FALSE = int.from_bytes(b"fals", "little")
_POINT_ZERO = int.from_bytes(b".0", "little")
_LARGEST_PLAIN_DOUBLE = 1e7
"""From this number on, Java writes a double with an exponent."""


@inner
def put_double(source: Bytes, position: int, output: Bytes, to: int) -> int:
    """Write a double that is a whole number below 10 million. Returns the position after the
    number; REFUSED for any other double, which the scalar reader writes."""
    number = load_double(source, position)
    if not abs(number) < _LARGEST_PLAIN_DOUBLE or number != np.floor(number):
        return REFUSED
    if number == 0.0 and load_i64(source, position) != 0:  # -0.0
        return REFUSED
    to = put_integer(output, to, long(number))
    store_16(output, to, _POINT_ZERO)
    return to + 2


@inner
def put_bool(source: Bytes, position: int, output: Bytes, to: int) -> int:
    if byte_at(source, position):
        store_32(output, to, _TRUE)
        return to + 4
    store_32(output, to, _FALSE)
    store_8(output, to + 4, 0x65)
    return to + 5


@inner
def put_uuid_text(source: Bytes, position: int, output: Bytes, to: int) -> int:
    store_8(output, to, _QUOTE)
    to = put_uuid(output, to + 1, source, position)
    store_8(output, to, _QUOTE)
    return to + 1


@inner
def put_fixed(source: Bytes, position: int, kind: int, output: Bytes, to: int) -> int:
    """Write a value of fixed size. Returns the position after the text; REFUSED for a double that
    put_double refuses."""
    if kind == tables.UUID:
        return put_uuid_text(source, position, output, to)
    if kind == tables.BOOL:
        return put_bool(source, position, output, to)
    if kind == tables.FLOAT64:
        return put_double(source, position, output, to)
    return put_integer(output, to, read_number(source, position, kind))


@inner
def put_text(source: Bytes, position: int, is_string: bool, output: Bytes, to: int) -> int:
    """Write a string with escapes, or bytes as base64. The caller has checked the length. Returns
    the position after the JSON."""
    size, start = unsigned_varint(source, position, source.size)
    if size == 0:
        store_32(output, to, _NULL)
        return to + 4
    store_8(output, to, _QUOTE)
    if is_string:
        to = put_escaped(output, to + 1, source, start, size - 1)
    else:
        to = put_base64(output, to + 1, source, start, size - 1)
    store_8(output, to, _QUOTE)
    return to + 1


@inner
def put_list(source: Bytes, start: int, count: int, is_uuid: bool, output: Bytes, to: int) -> int:
    """Write `count` elements that stand one behind another: uuids, or else int32. Returns the
    position after the JSON."""
    store_8(output, to, _OPEN)
    to += 1
    for index in range(count):
        if index:
            store_8(output, to, _COMMA)
            to += 1
        if is_uuid:
            to = put_uuid_text(source, start + 16 * index, output, to)
        else:
            to = put_integer(output, to, load_i32(source, start + 4 * index))
    store_8(output, to, _CLOSE)
    return to + 1


@inner
def _behind(source: Bytes, position: int, step: int) -> int:
    """The position after a scalar value. The caller has checked the value."""
    size = step_item(step, tables.STEP_SIZE)
    if size > 0:
        return position + size
    size, start = unsigned_varint(source, position, source.size)
    return start + max(size - 1, 0)


@inner
def _put_scalar(source: Bytes, position: int, step: int, output: Bytes, to: int) -> int:
    kind = step_item(step, tables.STEP_KIND)
    if step_item(step, tables.STEP_SIZE) > 0:
        return put_fixed(source, position, kind, output, to)
    return put_text(source, position, kind == tables.STRING, output, to)


@inner
def _put_struct(source: Bytes, position: int, step: int, output: Bytes, to: int) -> tuple[int, int]:
    """Write a structure. Returns the position after the structure, and the position after its
    JSON, or REFUSED for a double that put_double refuses."""
    first = step_item(step, tables.STEP_FIRST)
    store_8(output, to, _BRACE)
    to += 1
    for within in range(first, step_item(step, tables.STEP_END)):
        comma = long(within == first)
        label = step_item(within, tables.STEP_LABEL) + comma
        to = copy(
            output, to, tables.NAMES, label, step_item(within, tables.STEP_LABEL_SIZE) - comma
        )
        to = _put_scalar(source, position, within, output, to)
        if to == REFUSED:
            return 0, REFUSED
        position = _behind(source, position, within)
    store_8(output, to, _END_BRACE)
    return pass_tags(source, position, source.size), to + 1


@inner
def _put_array(source: Bytes, position: int, step: int, output: Bytes, to: int) -> int:
    count, at = unsigned_varint(source, position, source.size)
    if count == 0:
        store_32(output, to, _NULL)
        return to + 4
    store_8(output, to, _OPEN)
    to += 1
    for index in range(count - 1):
        if index:
            store_8(output, to, _COMMA)
            to += 1
        if step_item(step, tables.STEP_KIND) == tables.STRUCT:
            at, to = _put_struct(source, at, step, output, to)
        else:
            to = _put_scalar(source, at, step, output, to)
            at = _behind(source, at, step)
        if to == REFUSED:
            return REFUSED
    store_8(output, to, _CLOSE)
    return to + 1


@inner
def interpret(
    source: Bytes, position: int, end: int, program: int, output: Bytes, to: int, places: Longs
) -> int:
    """Write the JSON of the fields at `position`. Returns the position after this JSON, or REFUSED
    for a value that the scalar reader must write."""
    first = program_item(program, tables.PROGRAM_FIRST)
    last = program_item(program, tables.PROGRAM_END)
    if not locate(source, position, end, program, places):
        return REFUSED
    store_8(output, to, _BRACE)
    to += 1
    comma = 1
    for step in range(first, last):
        place = item(places, step - first)
        if place == ABSENT:
            continue
        label = step_item(step, tables.STEP_LABEL) + comma
        to = copy(output, to, tables.NAMES, label, step_item(step, tables.STEP_LABEL_SIZE) - comma)
        comma = 0
        if step_item(step, tables.STEP_IS_ARRAY):
            to = _put_array(source, place, step, output, to)
        else:
            to = _put_scalar(source, place, step, output, to)
        if to == REFUSED:
            return REFUSED
    store_8(output, to, _END_BRACE)
    return to + 1
