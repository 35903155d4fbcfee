"""Writes the versions and changes of partitions that the kernel of version_rows reports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from replica.scan import replay_tables as t
from replica.scan import version_tables as v
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import item, long, set_item, store_8
from replica.scan.kernels.slots import Table, get
from replica.scan.kernels.text import copy, put_integer
from replica.scan.native import Bytes, Longs

_FIELDS = {
    '{"addingReplicas":': t.PART_ADDING, ',"directories":': t.PART_DIRECTORIES,
    ',"eligibleLeaderReplicas":': t.PART_ELR, ',"isr":': t.PART_ISR,
    ',"lastKnownElr":': t.PART_LAST_KNOWN_ELR, ',"leader":': t.PART_LEADER,
    ',"leaderEpoch":': t.PART_LEADER_EPOCH, ',"leaderRecoveryState":': t.PART_RECOVERY,
    ',"partitionEpoch":': t.PART_EPOCH, ',"partitionId":': t.SLOT_KEY_B,
    ',"removingReplicas":': t.PART_REMOVING, ',"replicas":': t.PART_REPLICAS,
}  # fmt: skip
_WORDS = (*_FIELDS, ',"topicId":"', '"}', "}")
_COLUMNS = np.array([*_FIELDS.values()], np.int64)
_FIELD_COUNT = len(_FIELDS)
_TOPIC, _TEXT_END, _END = range(_FIELD_COUNT, _FIELD_COUNT + 3)
_ADDING, _REMOVING = map([*_FIELDS.values()].index, (t.PART_ADDING, t.PART_REMOVING))
_TEXT = np.frombuffer("".join(_WORDS).encode() + bytes(8), np.uint8)
_ENDS = np.cumsum([len(word) for word in _WORDS], dtype=np.int64)
_STARTS = np.array([end - len(word) for end, word in zip(_ENDS, _WORDS, strict=True)], np.int64)
_DASH, _COLON = 0x2D, 0x3A
_DIGITS = 12
"""The most characters of an int32 with its sign and the character before it."""


class Book(NamedTuple):
    """table: the slots of the partitions. texts, told: the arrays for what is reported of them; see
    replica.scan.version_tables."""

    table: Table
    texts: Bytes
    told: Longs


@inner
def _word(texts: Bytes, to: int, which: int) -> int:
    start = item(_STARTS, which)
    return copy(texts, to, _TEXT, start, item(_ENDS, which) - start)


@inner
def _put_part(book: Book, to: int, column: int, number: int) -> int:
    """Write the value of a column: the number, or the JSON of the list whose slot is `number`."""
    slots = book.table.slots
    if column < t.PART_REPLICAS:
        return put_integer(book.texts, to, number)
    start, size = get(slots, number, v.LIST_TEXT), get(slots, number, v.LIST_TEXT_SIZE)
    return copy(book.texts, to, book.table.arena, start, size)


@inner
def _put_field(book: Book, to: int, which: int, number: int) -> int:
    """Write the name of a field and its value, as `_put_part` writes the value."""
    to = _word(book.texts, to, which)
    return _put_part(book, to, item(_COLUMNS, which), number)


@inner
def _put_value(book: Book, to: int, slot: int) -> int:
    """Write the JSON of a partition, as replica.metadata.image.partition.text_of does."""
    slots = book.table.slots
    for which in range(_FIELD_COUNT):
        to = _put_field(book, to, which, get(slots, slot, item(_COLUMNS, which)))
    to = _word(book.texts, to, long(_TOPIC))
    topic = get(slots, slot, t.SLOT_KEY_A)
    start = get(slots, topic, v.TOPIC_TEXT)
    to = copy(book.texts, to, book.table.arena, start, long(v.UUID_TEXT_SIZE))
    return _word(book.texts, to, long(_TEXT_END))


@inner
def lists_size(slots: Longs, slot: int) -> int:
    """The size in bytes of the JSON of all lists of a partition."""
    size = long(0)
    for column in range(t.PART_REPLICAS, t.PART_LAST_KNOWN_ELR + 1):
        size += get(slots, get(slots, slot, column), v.LIST_TEXT_SIZE)
    return size


@inner
def _used(state: Longs, text: int) -> int:
    """How many bytes the texts of a kind have by now."""
    return item(state, v.TEXT_AT + text) - item(state, v.TEXT_FIRST + text)


@inner
def _left(state: Longs, text: int) -> int:
    return item(state, v.TEXT_END + text) - item(state, v.TEXT_AT + text)


@inner
def has_room(slots: Longs, state: Longs, topic: int, old_size: int, new_size: int) -> bool:
    """Whether there is room for everything that may be reported of one record. old_size, new_size:
    the lists_size of the partition before and after the record."""
    name_size = get(slots, topic, v.TOPIC_NAME_SIZE) + _DIGITS
    key_size = long(v.UUID_TEXT_SIZE + _DIGITS)
    return (
        item(state, v.TOLD_VERSIONS) < v.MOST_TOLD
        and item(state, v.TOLD_CHANGES) <= v.MOST_TOLD - v.MOST_CHANGES
        and _left(state, v.V_KEY) > key_size
        and _left(state, v.V_NAME) > name_size
        and _left(state, v.V_VALUE) > old_size + v.ROOM_OF_NUMBERS
        and _left(state, v.C_KEY) > v.MOST_CHANGES * key_size
        and _left(state, v.C_NAME) > v.MOST_CHANGES * name_size
        and _left(state, v.C_OLD) > old_size + v.ROOM_OF_NUMBERS
        and _left(state, v.C_NEW) > new_size + v.ROOM_OF_NUMBERS
    )


@inner
def _add_label(book: Book, slot: int, text: int, sign: int) -> None:
    """Add a text TOPIC:ID, with the topic's id, or TOPIC-ID, with its name. sign: the character
    between both parts."""
    slots, state = book.table.slots, book.table.state
    topic = get(slots, slot, t.SLOT_KEY_A)
    start, size = get(slots, topic, v.TOPIC_TEXT), long(v.UUID_TEXT_SIZE)
    if sign == _DASH:
        start, size = start + v.UUID_TEXT_SIZE, get(slots, topic, v.TOPIC_NAME_SIZE)
    to = copy(book.texts, item(state, v.TEXT_AT + text), book.table.arena, start, size)
    store_8(book.texts, to, sign)
    to = put_integer(book.texts, to + 1, get(slots, slot, t.SLOT_KEY_B))
    set_item(state, v.TEXT_AT + text, to)


@inner
def _add_part(book: Book, text: int, column: int, number: int) -> None:
    """Add a text that `_put_part` writes."""
    state = book.table.state
    to = _put_part(book, item(state, v.TEXT_AT + text), column, number)
    set_item(state, v.TEXT_AT + text, to)


@inner
def _add_value(book: Book, text: int, slot: int) -> None:
    """Add a text that `_put_value` writes."""
    state = book.table.state
    set_item(state, v.TEXT_AT + text, _put_value(book, item(state, v.TEXT_AT + text), slot))


@inner
def _tell(told: Longs, column: int, place: int, number: int) -> None:
    set_item(told, column * v.MOST_TOLD + place, number)


@inner
def tell_version(book: Book, slot: int, row: int) -> None:
    """Report that the present version of a partition ends with `row`."""
    slots, state, told = book.table.slots, book.table.state, book.told
    place = item(state, v.TOLD_VERSIONS)
    set_item(state, v.TOLD_VERSIONS, place + 1)
    _tell(told, long(v.VERSION_ROW), place, row)
    _tell(told, long(v.VERSION_SINCE), place, get(slots, slot, v.SINCE_OFFSET))
    _tell(told, long(v.VERSION_TIME), place, get(slots, slot, v.SINCE_TIME))
    _tell(told, long(v.VERSION_EPOCH), place, get(slots, slot, v.SINCE_EPOCH))
    _tell(told, long(v.VERSION_OFFSET), place, get(slots, slot, t.SLOT_OFFSET))
    _tell(told, long(v.VERSION_TYPE), place, get(slots, slot, v.SINCE_TYPE))
    _add_label(book, slot, long(v.V_KEY), long(_COLON))
    _add_label(book, slot, long(v.V_NAME), long(_DASH))
    _add_value(book, long(v.V_VALUE), slot)
    for k in range(v.VERSION_TEXTS):
        _tell(told, v.VERSION_KEY_END + k, place, _used(state, v.V_KEY + k))


@inner
def _tell_change(book: Book, slot: int, row: int, change: int) -> None:
    """Report a change whose old and new text are written already."""
    state, told = book.table.state, book.told
    place = item(state, v.TOLD_CHANGES)
    set_item(state, v.TOLD_CHANGES, place + 1)
    _tell(told, long(v.CHANGE_ROW), place, row)
    _tell(told, long(v.CHANGE_TYPE), place, change)
    _add_label(book, slot, long(v.C_KEY), long(_COLON))
    _add_label(book, slot, long(v.C_NAME), long(_DASH))
    for k in range(v.CHANGE_TEXTS):
        _tell(told, v.CHANGE_KEY_END + k, place, _used(state, v.C_KEY + k))


@inner
def tell_creation(book: Book, slot: int, row: int, change: int) -> None:
    """Report that a partition was created. The new text is its value."""
    _add_value(book, long(v.C_NEW), slot)
    _tell_change(book, slot, row, change)


@inner
def tell_part(
    book: Book, slot: int, row: int, change: int, column: int, old: int, new: int
) -> None:
    """Report that a column of a partition changed. old, new: numbers, or slots of lists."""
    _add_part(book, long(v.C_OLD), column, old)
    _add_part(book, long(v.C_NEW), column, new)
    _tell_change(book, slot, row, change)


@inner
def _add_moves(book: Book, text: int, adding: int, removing: int) -> None:
    state = book.table.state
    to = _put_field(book, item(state, v.TEXT_AT + text), long(_ADDING), adding)
    to = _put_field(book, to, long(_REMOVING), removing)
    set_item(state, v.TEXT_AT + text, _word(book.texts, to, long(_END)))


@inner
def tell_moves(book: Book, slot: int, row: int, change: int, adding: int, removing: int) -> None:
    """Report that the adding or removing replicas changed. adding, removing: the slots of these
    lists before the change."""
    slots = book.table.slots
    _add_moves(book, long(v.C_OLD), adding, removing)
    now = get(slots, slot, t.PART_ADDING), get(slots, slot, t.PART_REMOVING)
    _add_moves(book, long(v.C_NEW), now[0], now[1])
    _tell_change(book, slot, row, change)
