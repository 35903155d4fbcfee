"""The kernel that writes VARIANTs as JSON text, with the result of replica.metadata.variant_reader.

The kernel refuses damaged bytes, doubles, types that replica.metadata.variant never writes, and
containers that are nested more deeply than VARIANT_DEPTH. The scalar reader reads a refused row, or
reports its error.
"""

from __future__ import annotations

from replica.scan import tables
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import byte_at, item, long, set_item, store_8, store_32, store_64
from replica.scan.kernels.text import is_utf8, put_escaped, put_integer
from replica.scan.native import Bytes, Longs

REFUSED = -1
NO_ROOM = -2

_SHORT_STRING, _OBJECT = 1, 2
_NULL, _TRUE, _FALSE, _INT8, _INT64, _LONG_STRING = 0, 1, 2, 3, 6, 16
_IS_OBJECT, _NEXT, _COUNT, _IDS, _ID_WIDTH, _OFFSETS, _OFFSET_WIDTH, _VALUES = range(8)
_PER_BYTE = 6
"""The most bytes of JSON for one byte of a text, which is the length of \\u0000."""
_LEAST_ROOM = 32 + tables.VARIANT_DEPTH + tables.SLACK
"""The most bytes that a number or a word needs, with the marks before and behind the number or
word."""
_NULL_WORD = int.from_bytes(b"null", "little")
_TRUE_WORD = int.from_bytes(b"true", "little")
_FALSE_WORD = int.from_bytes(b"false\0\0\0", "little")
_QUOTE, _COMMA, _COLON = 0x22, 0x2C, 0x3A
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = 0x7B, 0x7D, 0x5B, 0x5D


@inner
def _unsigned(source: Bytes, at: int, width: int) -> int:
    number = byte_at(source, at)
    for k in range(1, width):
        number |= byte_at(source, at + k) << (8 * k)
    return number


@inner
def _signed(source: Bytes, at: int, width: int) -> int:
    shift = 64 - 8 * width
    return (_unsigned(source, at, width) << shift) >> shift


@inner
def _put_text(source: Bytes, start: int, end: int, output: Bytes, to: int) -> int:
    """Write bytes as a JSON string. Returns the position after the string, REFUSED if the bytes
    are no UTF-8, or NO_ROOM if the string may not fit."""
    if to + (end - start) * _PER_BYTE + _LEAST_ROOM > output.size:
        return NO_ROOM
    if not is_utf8(source, start, end):
        return REFUSED
    store_8(output, to, _QUOTE)
    to = put_escaped(output, to + 1, source, start, end - start)
    store_8(output, to, _QUOTE)
    return to + 1


@inner
def _put_name(names: Bytes, start: int, end: int, which: int, output: Bytes, to: int) -> int:
    """Write the name of number `which` in a dictionary as a JSON string. Returns the position
    behind the string, REFUSED or NO_ROOM. start, end: the bytes of the dictionary in `names`."""
    if end - start < 3:
        return REFUSED
    width = (byte_at(names, start) >> 6) + 1
    first = start + 1 + width
    if first > end:
        return REFUSED
    count = _unsigned(names, start + 1, width)
    texts = first + width * (count + 1)
    if which >= count or texts > end:
        return REFUSED
    low = texts + _unsigned(names, first + width * which, width)
    high = texts + _unsigned(names, first + width * (which + 1), width)
    if low > high or high > end:
        return REFUSED
    return _put_text(names, low, high, output, to)


@inner
def _put_scalar(source: Bytes, at: int, end: int, output: Bytes, to: int) -> int:
    """Write a value that is no container. Returns the position after its text, REFUSED or NO_ROOM.
    The caller has checked that there is room for a number or a word."""
    kind, header = byte_at(source, at) & 3, byte_at(source, at) >> 2
    if kind == _SHORT_STRING:
        if at + 1 + header > end:
            return REFUSED
        return _put_text(source, at + 1, at + 1 + header, output, to)
    if header == _NULL:
        store_32(output, to, _NULL_WORD)
        return to + 4
    if header == _TRUE:
        store_32(output, to, _TRUE_WORD)
        return to + 4
    if header == _FALSE:
        store_64(output, to, _FALSE_WORD)
        return to + 5
    if _INT8 <= header <= _INT64:
        width = 1 << (header - _INT8)
        if at + 1 + width > end:
            return REFUSED
        return put_integer(output, to, _signed(source, at + 1, width))
    if header != _LONG_STRING or at + 5 > end:
        return REFUSED
    size = _unsigned(source, at + 1, 4)
    if at + 5 + size > end:
        return REFUSED
    return _put_text(source, at + 5, at + 5 + size, output, to)


@inner
def _enter(source: Bytes, at: int, end: int, stack: Longs, frame: int) -> int:
    """Fill the frame of the container at `at`. Returns REFUSED if the container reaches beyond
    `end`."""
    is_object = long((byte_at(source, at) & 3) == _OBJECT)
    header = byte_at(source, at) >> 2
    offset_width = (header & 3) + 1
    id_width = ((header >> 2 & 3) + 1) * is_object
    is_large = header >> (4 if is_object else 2) & 1
    count_width = 4 if is_large else 1
    ids = at + 1 + count_width
    if ids > end:
        return REFUSED
    count = _unsigned(source, at + 1, count_width)
    offsets = ids + count * id_width
    values = offsets + (count + 1) * offset_width
    if values > end:
        return REFUSED
    set_item(stack, frame + _IS_OBJECT, is_object)
    set_item(stack, frame + _NEXT, long(0))
    set_item(stack, frame + _COUNT, count)
    set_item(stack, frame + _IDS, ids)
    set_item(stack, frame + _ID_WIDTH, id_width)
    set_item(stack, frame + _OFFSETS, offsets)
    set_item(stack, frame + _OFFSET_WIDTH, offset_width)
    set_item(stack, frame + _VALUES, values)
    return frame


@inner
def _put_label(
    source: Bytes, stack: Longs, frame: int, names: Bytes, first: int, last: int,
    output: Bytes, to: int,
) -> int:  # fmt: skip
    """Write the text before the next element of a container: a comma, and in an object the name.
    Returns the position after this text, REFUSED or NO_ROOM."""
    number = item(stack, frame + _NEXT)
    if number:
        store_8(output, to, _COMMA)
        to += 1
    if item(stack, frame + _IS_OBJECT):
        width = item(stack, frame + _ID_WIDTH)
        which = _unsigned(source, item(stack, frame + _IDS) + number * width, width)
        to = _put_name(names, first, last, which, output, to)
        if to >= 0:
            store_8(output, to, _COLON)
            to += 1
    return to


@inner
def _put_ends(output: Bytes, to: int, stack: Longs, depth: int) -> int:
    """Write the closing marks of the innermost containers that have no further element. Returns the
    position after the last mark."""
    while depth > 0:
        frame = (depth - 1) * tables.VARIANT_COLUMNS
        if item(stack, frame + _NEXT) < item(stack, frame + _COUNT):
            break
        store_8(output, to, _CLOSE_OBJECT if item(stack, frame) else _CLOSE_ARRAY)
        to += 1
        depth -= 1
    return to


@inner
def _put_begin(
    source: Bytes, at: int, end: int, output: Bytes, to: int, stack: Longs, depth: int
) -> int:
    """Write the opening mark of a container, and fill frame number `depth` of the stack for the
    container. Returns the position after the mark, or REFUSED."""
    if depth == tables.VARIANT_DEPTH:
        return REFUSED
    frame = _enter(source, at, end, stack, depth * tables.VARIANT_COLUMNS)
    if frame == REFUSED:
        return REFUSED
    store_8(output, to, _OPEN_OBJECT if item(stack, frame) else _OPEN_ARRAY)
    return to + 1


@inner
def _put_value(
    source: Bytes, start: int, end: int, names: Bytes, first: int, last: int,
    output: Bytes, to: int, stack: Longs,
) -> int:  # fmt: skip
    """Write the VARIANT in the bytes from start to end (exclusive) of `source` as JSON. Its
    dictionary is in the bytes from first to last (exclusive) of `names`. Returns the position
    behind the text, REFUSED or NO_ROOM."""
    at = start
    depth = 0
    while True:
        if at >= end:
            return REFUSED
        if to + _LEAST_ROOM > output.size:
            return NO_ROOM
        if byte_at(source, at) & 3 <= _SHORT_STRING:
            to = _put_scalar(source, at, end, output, to)
        else:
            to = _put_begin(source, at, end, output, to, stack, depth)
            depth += 1
        if to < 0:
            return to
        behind = _put_ends(output, to, stack, depth)
        depth -= behind - to
        to = behind
        if depth == 0:
            return to
        frame = (depth - 1) * tables.VARIANT_COLUMNS
        to = _put_label(source, stack, frame, names, first, last, output, to)
        if to < 0:
            return to
        at = _next_element(source, stack, frame)


@inner
def _next_element(source: Bytes, stack: Longs, frame: int) -> int:
    """The position of the next element of a container. The frame then names the element behind this
    element as the next element."""
    number = item(stack, frame + _NEXT)
    set_item(stack, frame + _NEXT, number + 1)
    width = item(stack, frame + _OFFSET_WIDTH)
    offset = _unsigned(source, item(stack, frame + _OFFSETS) + number * width, width)
    return item(stack, frame + _VALUES) + offset


def write_variant_texts(
    values: Bytes,
    value_offsets: Longs,
    names: Bytes,
    name_offsets: Longs,
    present: Bytes,
    low: int,
    high: int,
    output: Bytes,
    offsets: Longs,
    refused: Longs,
    stack: Longs,
) -> int:
    """Write the rows low <= row < high. Returns the first row that found no room, or `high`. A row
    that finds no room in an empty output is refused.

    value_offsets, name_offsets: row k has the bytes value_offsets[k] to value_offsets[k + 1] of
        `values`, and its dictionary is in the bytes name_offsets[k] to name_offsets[k + 1] of
        `names`.
    present: a number for each row; 0 if the row is NULL and has no bytes. offsets: an array with
        one more item than rows; row low + k gets the bytes offsets[k] to offsets[k + 1] of
        `output`.
    refused: an array with one more item than rows. Its first item is the number of rows that the
        scalar reader must read; the numbers of these rows follow, counted from `low`. stack: an
        array of VARIANT_DEPTH * VARIANT_COLUMNS items of scratch.
    """
    to = long(0)
    refusals = 0
    row = low
    while row < high:
        set_item(offsets, row - low, to)
        if byte_at(present, row):
            behind = _put_value(
                values, item(value_offsets, row), item(value_offsets, row + 1),
                names, item(name_offsets, row), item(name_offsets, row + 1),
                output, to, stack,
            )  # fmt: skip
            if behind == NO_ROOM and to > 0:
                break
            if behind < 0:
                refusals += 1
                set_item(refused, refusals, row - low)
            else:
                to = behind
        row += 1
    set_item(offsets, row - low, to)
    set_item(refused, 0, refusals)
    return row
