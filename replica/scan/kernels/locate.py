"""Where the fields of a value lie, all lengths checked: the first step of every payload kernel.

This is the interpreter of replica.scan.tables. Whatever it doesn't accept is left to
replica.metadata.reader, so it may refuse what is rare; it must accept nothing that the reader
refuses, and it accepts only values whose every byte it has accounted for.
"""

from __future__ import annotations

import re

import numpy as np

from replica.metadata import redact
from replica.metadata.schema import Kind
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
from replica.scan.tables import (
    BOOL,
    CONFIG_PROGRAM,
    INT8,
    INT16,
    INT32,
    INT64,
    KERNEL_PROGRAMS,
    PROGRAM_COLUMNS,
    PROGRAM_END,
    PROGRAM_FIRST,
    PROGRAMS,
    STEP_COLUMNS,
    STEP_DEFAULT,
    STEP_END,
    STEP_FIRST,
    STEP_IS_ARRAY,
    STEP_KIND,
    STEP_NULLABLE,
    STEP_SIZE,
    STEP_TAG,
    STEPS,
    STRING,
    STRUCT,
    TEXT,
    UINT16,
)

ABSENT = -1
"""The place of a tagged field that isn't there or holds its default."""


@inner
def step_item(step: int, column: int) -> int:
    number: int = item(STEPS, step * STEP_COLUMNS + column)
    return number


@inner
def read_number(source: Bytes, position: int, kind: int) -> int:
    """An integer or bool of a fixed kind; its bytes are known to exist."""
    if kind == INT32:
        return long(load_i32(source, position))
    if kind == INT64:
        return long(load_i64(source, position))
    if kind == INT16:
        return long(load_i16(source, position))
    if kind == INT8:
        return long(load_i8(source, position))
    if kind == UINT16:
        return long(load_i16(source, position)) & 0xFFFF
    if kind == BOOL:
        return long(byte_at(source, position) != 0)
    return long(load_i32(source, position)) & 0xFFFFFFFF


@inner
def pass_text(source: Bytes, position: int, end: int, is_string: bool, nullable: bool) -> int:
    """The position behind a compact string or bytes, NOWHERE for one that can't be."""
    size, start = unsigned_varint(source, position, end)
    if size == 0:
        return start if nullable else NOWHERE
    stop = start + size - 1
    if stop > end or (is_string and not is_utf8(source, start, stop)):
        return NOWHERE
    return stop


@inner
def pass_fixed_array(source: Bytes, position: int, end: int, size: int, nullable: bool) -> int:
    """The same of a compact array of values of `size` bytes."""
    count, start = unsigned_varint(source, position, end)
    if count == 0:
        return start if nullable else NOWHERE
    stop = start + (count - 1) * size
    return stop if stop <= end else NOWHERE


@inner
def pass_tags(source: Bytes, position: int, end: int) -> int:
    """The position behind tagged fields none of which is known."""
    count, at = unsigned_varint(source, position, end)
    for _ in range(count):
        _, at = unsigned_varint(source, at, end)
        size, at = unsigned_varint(source, at, end)
        at += size
        if at > end:
            return NOWHERE
    return at


@inner
def _pass_scalar(source: Bytes, position: int, end: int, step: int, nullable: bool) -> int:
    size = step_item(step, STEP_SIZE)
    if size > 0:
        return position + size if position + size <= end else NOWHERE
    is_string = step_item(step, STEP_KIND) == STRING
    return pass_text(source, position, end, is_string, nullable)


@inner
def pass_struct(source: Bytes, position: int, end: int, step: int) -> int:
    """The position behind one structure of the array that `step` is."""
    for within in range(step_item(step, STEP_FIRST), step_item(step, STEP_END)):
        nullable = step_item(within, STEP_NULLABLE) != 0
        position = _pass_scalar(source, position, end, within, nullable)
    return pass_tags(source, position, end)


@inner
def _pass_array(source: Bytes, position: int, end: int, step: int) -> int:
    kind = step_item(step, STEP_KIND)
    nullable = step_item(step, STEP_NULLABLE) != 0
    if kind < TEXT:
        return pass_fixed_array(source, position, end, step_item(step, STEP_SIZE), nullable)
    count, at = unsigned_varint(source, position, end)
    if count == 0:
        return at if nullable else NOWHERE
    for _ in range(count - 1):
        if at >= end:  # each element takes a byte: a claimed count costs no more than the bytes
            return NOWHERE
        if kind == STRUCT:
            at = pass_struct(source, at, end, step)
        else:
            at = _pass_scalar(source, at, end, step, False)
    return at


@inner
def _pass_step(source: Bytes, position: int, end: int, step: int) -> int:
    if step_item(step, STEP_IS_ARRAY):
        return _pass_array(source, position, end, step)
    return _pass_scalar(source, position, end, step, step_item(step, STEP_NULLABLE) != 0)


@inner
def _is_default(source: Bytes, position: int, step: int) -> bool:
    """Whether the tagged field at a place that was passed holds its default."""
    default = step_item(step, STEP_DEFAULT)
    kind = step_item(step, STEP_KIND)
    if step_item(step, STEP_IS_ARRAY) or kind >= TEXT:
        # a padded length of 0 or 1 is longer than a byte
        size, _ = unsigned_varint(source, position, source.size)
        return size == default
    return read_number(source, position, kind) == default


@inner
def _step_of_tag(tag: int, first: int, last: int) -> int:
    for step in range(first, last):
        if step_item(step, STEP_TAG) == tag:
            return step
    return -1


@inner
def locate(source: Bytes, position: int, end: int, first: int, last: int, places: Longs) -> bool:
    """Fills places[k] for the steps first <= k < last of the value at `position`.

    False where the value isn't sound to its last byte, or says a tag twice.
    """
    at = position
    for step in range(first, last):
        place = ABSENT
        if step_item(step, STEP_TAG) < 0:
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
        if step >= 0:
            if item(places, step - first) != ABSENT or _pass_step(source, at, end, step) != stop:
                return False
            if not _is_default(source, at, step):
                set_item(places, step - first, at)
        at = stop
    return at == end


@inner
def locate_program(source: Bytes, position: int, end: int, program: int, places: Longs) -> bool:
    """`locate` for the fields of a program's record."""
    first = item(PROGRAMS, program * PROGRAM_COLUMNS + PROGRAM_FIRST)
    last = item(PROGRAMS, program * PROGRAM_COLUMNS + PROGRAM_END)
    found: bool = locate(source, position, end, first, last, places)
    return found


def _telling_words() -> tuple[bytes, ...]:
    """The words by which redact knows a config whose value is secret, in lower case."""
    words = redact._TELLING_NAME.pattern.split("|")
    assert all(re.fullmatch("[a-z]+", word) for word in words), "the pattern is more than words"
    for name in redact.PASSWORD_CONFIGS:
        assert any(word in name for word in words), f"{name} holds none of the words"
    return tuple(word.encode() for word in words)


_WORDS = _telling_words()
_LETTERS = np.frombuffer(b"".join(_WORDS) + bytes(8), np.uint8)
_WORD_PLACES = np.cumsum([0, *(len(word) for word in _WORDS)]).astype(np.int64)


@inner
def _starts_word(source: Bytes, position: int, end: int) -> bool:
    for word in range(_WORD_PLACES.size - 1):
        first, stop = item(_WORD_PLACES, word), item(_WORD_PLACES, word + 1)
        if stop - first > end - position:
            continue
        k = first
        while k < stop and byte_at(source, position + k - first) | 0x20 == byte_at(_LETTERS, k):
            k += 1
        if k == stop:
            return True
    return False


@inner
def is_telling_name(source: Bytes, position: int) -> bool:
    """Whether the config name at a place may be that of a secret.

    True too for every name beyond ASCII: regular expressions fold some of its letters to ours.
    """
    size, start = unsigned_varint(source, position, source.size)
    end = start + size - 1
    for at in range(start, end):
        byte = byte_at(source, at)
        if byte >= 0x80 or _starts_word(source, at, end):
            return True
    return False


_CONFIG_FIELDS = [(step.name, step.kind) for step in KERNEL_PROGRAMS[CONFIG_PROGRAM].steps]
assert _CONFIG_FIELDS[:3] == [
    ("resourceType", Kind.INT8),
    ("resourceName", Kind.STRING),
    ("name", Kind.STRING),
], "is_telling_config knows where the name lies"


@inner
def is_telling_config(source: Bytes, position: int, end: int) -> bool:
    """Whether the CONFIG_RECORD whose fields start at `position` may hold a secret."""
    name = pass_text(source, position + 1, end, True, False)
    if pass_text(source, name, end, True, False) == NOWHERE:
        return True
    return is_telling_name(source, name)
