"""Writes Spark's VARIANT: functions for single values, and the interpreter for whole records.

The bytes are those that replica.metadata.variant.encode_variant makes of
replica.metadata.json_text.to_plain. The dictionary has exactly the names in the value, sorted.
Integers and offsets take as few bytes as possible. The fields of an object come in the order of
their names. Before a function here reads a value, `locate` has checked the value.
replica.scan.tables computes how much room the outputs need.
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
    load_raw64,
    load_u64,
    long,
    popcount,
    set_item,
    store_8,
    store_16,
    store_32,
    store_64,
)
from replica.scan.kernels.text import copy, put_base64, put_uuid
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes, Longs

REFUSED = -1
UUID_VARIANT_SIZE = 23

_SHORT_STRING, _OBJECT, _ARRAY = 1, 2, 3
_NULL, _TRUE, _FALSE = 0 << 2, 1 << 2, 2 << 2
_INT8, _INT16, _INT32, _INT64, _DOUBLE, _LONG_STRING = (code << 2 for code in (3, 4, 5, 6, 7, 16))
_MAX_SHORT = 0x3F
_MAX_SMALL_COUNT = 0xFF
_LARGE_ARRAY = 1 << 4


@inner
def width_of(number: int) -> int:
    """How many bytes an unsigned number below 2**32 needs."""
    if number < 1 << 8:
        return 1
    if number < 1 << 16:
        return 2
    return 3 if number < 1 << 24 else 4


@inner
def put_unsigned(output: Bytes, to: int, number: int, width: int) -> int:
    """Write a number little-endian, in exactly `width` bytes. Returns the position after the
    number."""
    if width == 1:
        store_8(output, to, number)
    elif width == 4:
        store_32(output, to, number)
    else:
        store_16(output, to, number)
        if width == 3:
            store_8(output, to + 2, number >> 16)
    return to + width


@inner
def integer_size(number: int) -> int:
    if -(1 << 7) <= number < 1 << 7:
        return 2
    if -(1 << 15) <= number < 1 << 15:
        return 3
    return 5 if -(1 << 31) <= number < 1 << 31 else 9


@inner
def put_integer(output: Bytes, to: int, number: int) -> int:
    if -(1 << 7) <= number < 1 << 7:
        store_16(output, to, (number & 0xFF) << 8 | _INT8)
        return to + 2
    if -(1 << 15) <= number < 1 << 15:
        store_32(output, to, (number & 0xFFFF) << 8 | _INT16)
        return to + 3
    if -(1 << 31) <= number < 1 << 31:
        store_64(output, to, (number & 0xFFFFFFFF) << 8 | _INT32)
        return to + 5
    store_8(output, to, _INT64)
    store_64(output, to + 1, number)
    return to + 9


@inner
def put_uuid_text(source: Bytes, position: int, output: Bytes, to: int) -> int:
    store_8(output, to, long(22 << 2 | _SHORT_STRING))
    return put_uuid(output, to + 1, source, position)


@inner
def put_fixed(source: Bytes, position: int, kind: int, output: Bytes, to: int) -> int:
    """Write a value of fixed size. Returns the position after the value, or REFUSED for a double
    that isn't finite."""
    if kind == tables.UUID:
        return put_uuid_text(source, position, output, to)
    if kind == tables.BOOL:
        store_8(output, to, _TRUE if byte_at(source, position) else _FALSE)
        return to + 1
    if kind == tables.FLOAT64:
        if not np.isfinite(load_double(source, position)):
            return REFUSED
        store_8(output, to, _DOUBLE)
        store_64(output, to + 1, load_u64(source, position))
        return to + 9
    return put_integer(output, to, read_number(source, position, kind))


@inner
def _characters(size: int, is_string: bool) -> int:
    return size if is_string else (size + 2) // 3 * 4


@inner
def put_text(source: Bytes, position: int, is_string: bool, output: Bytes, to: int) -> int:
    size, start = unsigned_varint(source, position, source.size)
    if size == 0:
        store_8(output, to, _NULL)
        return to + 1
    length = _characters(size - 1, is_string)
    if length <= _MAX_SHORT:
        store_8(output, to, length << 2 | _SHORT_STRING)
        to += 1
    else:
        store_8(output, to, _LONG_STRING)
        store_32(output, to + 1, length)
        to += 5
    if is_string:
        return copy(output, to, source, start, size - 1)
    return put_base64(output, to, source, start, size - 1)


@inner
def _scalar_size(source: Bytes, position: int, step: int) -> tuple[int, int]:
    """The bytes that a scalar value takes as a VARIANT, and the position after that value."""
    kind = step_item(step, tables.STEP_KIND)
    fixed = step_item(step, tables.STEP_SIZE)
    if fixed > 0:
        behind = position + fixed
        if kind == tables.UUID:
            return UUID_VARIANT_SIZE, behind
        if kind == tables.BOOL:
            return 1, behind
        if kind == tables.FLOAT64:
            return 9, behind
        return integer_size(read_number(source, position, kind)), behind
    size, start = unsigned_varint(source, position, source.size)
    if size == 0:
        return 1, start
    length = _characters(size - 1, kind == tables.STRING)
    return length + (1 if length <= _MAX_SHORT else 5), start + size - 1


@inner
def _put_scalar(source: Bytes, position: int, step: int, output: Bytes, to: int) -> int:
    kind = step_item(step, tables.STEP_KIND)
    if step_item(step, tables.STEP_SIZE) > 0:
        return put_fixed(source, position, kind, output, to)
    return put_text(source, position, kind == tables.STRING, output, to)


@inner
def _struct_size(source: Bytes, position: int, step: int) -> tuple[int, int, int]:
    """The bytes that a structure takes as a VARIANT, the bytes of its values alone, and the
    position after the structure."""
    first, last = step_item(step, tables.STEP_FIRST), step_item(step, tables.STEP_END)
    values = 0
    for within in range(first, last):
        size, position = _scalar_size(source, position, within)
        values += size
    count = last - first
    whole = 2 + count + (count + 1) * width_of(values) + values
    return whole, values, pass_tags(source, position, source.size)


@inner
def _put_struct(
    source: Bytes, position: int, step: int, output: Bytes, to: int, names: int
) -> tuple[int, int]:
    """Write a structure. Returns the position after the structure, and the position after its
    VARIANT, or REFUSED for a double that isn't finite.

    names: the bits of the names in the dictionary. The id of a name is its rank among these names.
    """
    first, last = step_item(step, tables.STEP_FIRST), step_item(step, tables.STEP_END)
    count = last - first
    _, values, behind = _struct_size(source, position, step)
    width = width_of(values)
    store_8(output, to, (width - 1) << 2 | _OBJECT)
    store_8(output, to + 1, count)
    ids = to + 2
    offsets = ids + count
    begin = offsets + (count + 1) * width
    at = begin
    for rank in range(count):
        wanted = step_item(first + rank, tables.STEP_BY_NAME)
        place = position
        for within in range(first, wanted):
            _, place = _scalar_size(source, place, within)
        bit = step_item(wanted, tables.STEP_NAME_BIT)
        store_8(output, ids + rank, popcount(names & ((1 << bit) - 1)))
        put_unsigned(output, offsets + rank * width, at - begin, width)
        at = _put_scalar(source, place, wanted, output, at)
        if at == REFUSED:
            return 0, REFUSED
    put_unsigned(output, offsets + count * width, at - begin, width)
    return behind, at


@inner
def open_array(output: Bytes, to: int, count: int, width: int) -> int:
    """Write the header and the count of an array. Returns the position at which its offsets
    begin."""
    if count <= _MAX_SMALL_COUNT:
        store_8(output, to, (width - 1) << 2 | _ARRAY)
        store_8(output, to + 1, count)
        return to + 2
    store_8(output, to, _LARGE_ARRAY | (width - 1) << 2 | _ARRAY)
    store_32(output, to + 1, count)
    return to + 5


@inner
def _put_array(source: Bytes, position: int, step: int, output: Bytes, to: int, names: int) -> int:
    count, start = unsigned_varint(source, position, source.size)
    if count == 0:
        store_8(output, to, _NULL)
        return to + 1
    count -= 1
    is_struct = step_item(step, tables.STEP_KIND) == tables.STRUCT
    values = 0
    at = start
    for _ in range(count):
        if is_struct:
            size, _, at = _struct_size(source, at, step)
        else:
            size, at = _scalar_size(source, at, step)
        values += size
    width = width_of(values)
    offsets = open_array(output, to, count, width)
    begin = offsets + (count + 1) * width
    to = begin
    at = start
    for index in range(count):
        put_unsigned(output, offsets + index * width, to - begin, width)
        if is_struct:
            at, to = _put_struct(source, at, step, output, to, names)
        else:
            to = _put_scalar(source, at, step, output, to)
            _, at = _scalar_size(source, at, step)
        if to == REFUSED:
            return REFUSED
    put_unsigned(output, offsets + count * width, to - begin, width)
    return to


@inner
def shift_up(output: Bytes, start: int, end: int, by: int) -> None:
    """Move bytes to higher places. The last bytes move first, because the places may overlap."""
    at = end
    while at - 8 >= start:
        at -= 8
        store_64(output, at + by, load_raw64(output, at))
    while at > start:
        at -= 1
        store_8(output, at + by, byte_at(output, at))


@inner
def close_object(output: Bytes, header: int, count: int, end: int, field_ends: Longs) -> int:
    """Write the header and the offsets of an object whose ids and values are written. Returns the
    position after the object.

    If an offset takes one byte, the values are already at the right place. Otherwise this function
    moves the values. field_ends[k]: the position after the k-th value, in the order of the names.
    """
    offsets = header + 2 + count
    begin = offsets + count + 1
    width = width_of(end - begin)
    moved = (count + 1) * (width - 1)
    if moved:
        shift_up(output, begin, end, moved)
    store_8(output, header, (width - 1) << 2 | _OBJECT)
    store_8(output, header + 1, count)
    put_unsigned(output, offsets, 0, width)
    for k in range(count):
        put_unsigned(output, offsets + (k + 1) * width, item(field_ends, k) - begin, width)
    return end + moved


@inner
def _names_present(source: Bytes, first: int, last: int, places: Longs) -> int:
    names = 0
    for step in range(first, last):
        place = item(places, step - first)
        if place == ABSENT:
            continue
        names |= 1 << step_item(step, tables.STEP_NAME_BIT)
        if step_item(step, tables.STEP_KIND) == tables.STRUCT:
            count, _ = unsigned_varint(source, place, source.size)
            if count > 1:
                names |= step_item(step, tables.STEP_INNER_NAMES)
    return names


@inner
def interpret(
    source: Bytes,
    position: int,
    end: int,
    program: int,
    output: Bytes,
    to: int,
    places: Longs,
    field_ends: Longs,
) -> tuple[int, int]:
    """Write the VARIANT of the fields at `position`. Returns the position after this VARIANT, or
    REFUSED for a value that the scalar reader must write; and the bits of the names in the
    VARIANT."""
    first = program_item(program, tables.PROGRAM_FIRST)
    last = program_item(program, tables.PROGRAM_END)
    if not locate(source, position, end, program, places):
        return REFUSED, 0
    names = _names_present(source, first, last, places)
    count = 0
    for step in range(first, last):
        count += item(places, step - first) != ABSENT
    at = to + 2 + count + count + 1
    rank = 0
    for slot in range(first, last):
        step = step_item(slot, tables.STEP_BY_NAME)
        place = item(places, step - first)
        if place == ABSENT:
            continue
        bit = step_item(step, tables.STEP_NAME_BIT)
        store_8(output, to + 2 + rank, popcount(names & ((1 << bit) - 1)))
        if step_item(step, tables.STEP_IS_ARRAY):
            at = _put_array(source, place, step, output, at, names)
        else:
            at = _put_scalar(source, place, step, output, at)
        if at == REFUSED:
            return REFUSED, 0
        set_item(field_ends, rank, at)
        rank += 1
    return close_object(output, to, count, at, field_ends), names
