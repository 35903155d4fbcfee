"""What the kernel of version_rows tells of a partition: its texts, and the row of each."""

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
    '{"addingReplicas":': v.PART_ADDING, ',"directories":': v.PART_DIRECTORIES,
    ',"eligibleLeaderReplicas":': v.PART_ELR, ',"isr":': v.PART_ISR,
    ',"lastKnownElr":': v.PART_LAST_KNOWN_ELR, ',"leader":': v.PART_LEADER,
    ',"leaderEpoch":': v.PART_LEADER_EPOCH, ',"leaderRecoveryState":': v.PART_RECOVERY,
    ',"partitionEpoch":': v.PART_EPOCH, ',"partitionId":': t.SLOT_KEY_B,
    ',"removingReplicas":': v.PART_REMOVING, ',"replicas":': v.PART_REPLICAS,
}  # fmt: skip
_WORDS = (*_FIELDS, ',"topicId":"', '"}', "}")
_COLUMNS = np.array([*_FIELDS.values()], np.int64)
_FIELD_COUNT = len(_FIELDS)
_TOPIC, _TEXT_END, _END = range(_FIELD_COUNT, _FIELD_COUNT + 3)
_ADDING, _REMOVING = map([*_FIELDS.values()].index, (v.PART_ADDING, v.PART_REMOVING))
_TEXT = np.frombuffer("".join(_WORDS).encode() + bytes(8), np.uint8)
_ENDS = np.cumsum([len(word) for word in _WORDS], dtype=np.int64)
_STARTS = np.array([end - len(word) for end, word in zip(_ENDS, _WORDS, strict=True)], np.int64)
_DASH, _COLON = 0x2D, 0x3A
_DIGITS = 12
"""The most characters of an int32 with its sign, and one character before it."""


class Book(NamedTuple):
    """table: the partitions. texts, told: what is told of them, see replica.scan.version_tables."""

    table: Table
    texts: Bytes
    told: Longs


@inner
def _word(texts: Bytes, to: int, which: int) -> int:
    start = item(_STARTS, which)
    end: int = copy(texts, to, _TEXT, start, item(_ENDS, which) - start)
    return end


@inner
def _put_part(book: Book, to: int, column: int, number: int) -> int:
    """The value of a column: `number`, or the JSON of the list in the slot `number`."""
    slots = book.table.slots
    if column < v.PART_REPLICAS:
        end: int = put_integer(book.texts, to, number)
        return end
    start, size = get(slots, number, v.LIST_TEXT), get(slots, number, v.LIST_TEXT_SIZE)
    end = copy(book.texts, to, book.table.arena, start, size)
    return end


@inner
def _put_field(book: Book, to: int, which: int, number: int) -> int:
    """A field's name and value: a list where its column is one of lists, else the number."""
    to = _word(book.texts, to, which)
    end: int = _put_part(book, to, item(_COLUMNS, which), number)
    return end


@inner
def _put_value(book: Book, to: int, slot: int) -> int:
    """The JSON of a partition: replica.metadata.image.partition.text_of."""
    slots = book.table.slots
    for which in range(_FIELD_COUNT):
        to = _put_field(book, to, which, get(slots, slot, item(_COLUMNS, which)))
    to = _word(book.texts, to, long(_TOPIC))
    topic = get(slots, slot, t.SLOT_KEY_A)
    start = get(slots, topic, v.TOPIC_TEXT)
    to = copy(book.texts, to, book.table.arena, start, long(v.UUID_TEXT_SIZE))
    end: int = _word(book.texts, to, long(_TEXT_END))
    return end


@inner
def lists_size(slots: Longs, slot: int) -> int:
    """The size in bytes of the JSON of a partition's lists."""
    size = long(0)
    for column in range(v.PART_REPLICAS, v.PART_LAST_KNOWN_ELR + 1):
        size += get(slots, get(slots, slot, column), v.LIST_TEXT_SIZE)
    return size


@inner
def _left(state: Longs, text: int) -> int:
    return item(state, v.TEXT_END + text) - item(state, v.TEXT_AT + text)


@inner
def has_room(slots: Longs, state: Longs, topic: int, old_size: int, new_size: int) -> bool:
    """Whether there is room for everything that one record may tell. old_size, new_size: the
    lists_size before and after the record."""
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
def _put_label(book: Book, slot: int, text: int, sign: int) -> int:
    """Write TOPIC:ID with the topic's id, or TOPIC-ID with its name, by the sign. Returns where the
    text ends, counted from the beginning of such texts."""
    slots, state = book.table.slots, book.table.state
    topic = get(slots, slot, t.SLOT_KEY_A)
    start, size = get(slots, topic, v.TOPIC_TEXT), long(v.UUID_TEXT_SIZE)
    if sign == _DASH:
        start, size = start + v.UUID_TEXT_SIZE, get(slots, topic, v.TOPIC_NAME_SIZE)
    to = copy(book.texts, item(state, v.TEXT_AT + text), book.table.arena, start, size)
    store_8(book.texts, to, sign)
    to = put_integer(book.texts, to + 1, get(slots, slot, t.SLOT_KEY_B))
    set_item(state, v.TEXT_AT + text, to)
    return to - item(state, v.TEXT_FIRST + text)


@inner
def _tell(told: Longs, column: int, place: int, number: int) -> None:
    set_item(told, column * v.MOST_TOLD + place, number)


@inner
def tell_version(book: Book, slot: int, row: int) -> None:
    """Tell that the present version of a partition ends with `row`."""
    slots, state, told = book.table.slots, book.table.state, book.told
    place = item(state, v.TOLD_VERSIONS)
    set_item(state, v.TOLD_VERSIONS, place + 1)
    _tell(told, long(v.VERSION_ROW), place, row)
    _tell(told, long(v.VERSION_SINCE), place, get(slots, slot, v.SINCE_OFFSET))
    _tell(told, long(v.VERSION_TIME), place, get(slots, slot, v.SINCE_TIME))
    _tell(told, long(v.VERSION_EPOCH), place, get(slots, slot, v.SINCE_EPOCH))
    _tell(told, long(v.VERSION_OFFSET), place, get(slots, slot, t.SLOT_OFFSET))
    _tell(told, long(v.VERSION_TYPE), place, get(slots, slot, v.SINCE_TYPE))
    _tell(told, long(v.VERSION_KEY_END), place, _put_label(book, slot, long(v.V_KEY), long(_COLON)))
    _tell(
        told, long(v.VERSION_NAME_END), place, _put_label(book, slot, long(v.V_NAME), long(_DASH))
    )
    to = _put_value(book, item(state, v.TEXT_AT + v.V_VALUE), slot)
    set_item(state, v.TEXT_AT + v.V_VALUE, to)
    _tell(told, long(v.VERSION_VALUE_END), place, to - item(state, v.TEXT_FIRST + v.V_VALUE))


@inner
def _tell_change(book: Book, slot: int, row: int, change: int) -> None:
    """Tell a change whose old and new text are written."""
    state, told = book.table.state, book.told
    place = item(state, v.TOLD_CHANGES)
    set_item(state, v.TOLD_CHANGES, place + 1)
    _tell(told, long(v.CHANGE_ROW), place, row)
    _tell(told, long(v.CHANGE_TYPE), place, change)
    _tell(told, long(v.CHANGE_KEY_END), place, _put_label(book, slot, long(v.C_KEY), long(_COLON)))
    _tell(told, long(v.CHANGE_NAME_END), place, _put_label(book, slot, long(v.C_NAME), long(_DASH)))
    end = item(state, v.TEXT_AT + v.C_OLD) - item(state, v.TEXT_FIRST + v.C_OLD)
    _tell(told, long(v.CHANGE_OLD_END), place, end)
    end = item(state, v.TEXT_AT + v.C_NEW) - item(state, v.TEXT_FIRST + v.C_NEW)
    _tell(told, long(v.CHANGE_NEW_END), place, end)


@inner
def tell_creation(book: Book, slot: int, row: int, change: int) -> None:
    """Tell that a partition is new; the new text is its value."""
    state = book.table.state
    set_item(state, v.TEXT_AT + v.C_NEW, _put_value(book, item(state, v.TEXT_AT + v.C_NEW), slot))
    _tell_change(book, slot, row, change)


@inner
def tell_part(
    book: Book, slot: int, row: int, change: int, column: int, old: int, new: int
) -> None:
    """Tell that a column of the partition changed: a number, or the slot of a list."""
    state = book.table.state
    set_item(
        state, v.TEXT_AT + v.C_OLD, _put_part(book, item(state, v.TEXT_AT + v.C_OLD), column, old)
    )
    set_item(
        state, v.TEXT_AT + v.C_NEW, _put_part(book, item(state, v.TEXT_AT + v.C_NEW), column, new)
    )
    _tell_change(book, slot, row, change)


@inner
def _put_moves(book: Book, text: int, adding: int, removing: int) -> None:
    state = book.table.state
    to = _put_field(book, item(state, v.TEXT_AT + text), long(_ADDING), adding)
    to = _put_field(book, to, long(_REMOVING), removing)
    set_item(state, v.TEXT_AT + text, _word(book.texts, to, long(_END)))


@inner
def tell_moves(book: Book, slot: int, row: int, change: int, adding: int, removing: int) -> None:
    """Tell that adding or removing replicas changed. adding, removing: the slots of the lists
    before."""
    slots = book.table.slots
    _put_moves(book, long(v.C_OLD), adding, removing)
    now = get(slots, slot, v.PART_ADDING), get(slots, slot, v.PART_REMOVING)
    _put_moves(book, long(v.C_NEW), now[0], now[1])
    _tell_change(book, slot, row, change)
