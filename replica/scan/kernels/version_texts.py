"""What the kernel of version_rows tells of a partition: its texts, and the row of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import item, long, set_item, store_8
from replica.scan.kernels.slots import Table, get
from replica.scan.kernels.text import copy, put_integer
from replica.scan.native import Bytes, Longs
from replica.scan.replay_tables import SLOT_KEY_A, SLOT_KEY_B, SLOT_OFFSET
from replica.scan.version_tables import (
    C_KEY,
    C_NAME,
    C_NEW,
    C_OLD,
    CHANGE_KEY_END,
    CHANGE_NAME_END,
    CHANGE_NEW_END,
    CHANGE_OLD_END,
    CHANGE_ROW,
    CHANGE_TYPE,
    LIST_TEXT,
    LIST_TEXT_SIZE,
    MOST_CHANGES,
    MOST_TOLD,
    PART_ADDING,
    PART_DIRECTORIES,
    PART_ELR,
    PART_EPOCH,
    PART_ISR,
    PART_LAST_KNOWN_ELR,
    PART_LEADER,
    PART_LEADER_EPOCH,
    PART_RECOVERY,
    PART_REMOVING,
    PART_REPLICAS,
    ROOM_OF_NUMBERS,
    SINCE_EPOCH,
    SINCE_OFFSET,
    SINCE_TIME,
    SINCE_TYPE,
    TEXT_AT,
    TEXT_END,
    TEXT_FIRST,
    TOLD_CHANGES,
    TOLD_VERSIONS,
    TOPIC_NAME_SIZE,
    TOPIC_TEXT,
    UUID_TEXT_SIZE,
    V_KEY,
    V_NAME,
    V_VALUE,
    VERSION_EPOCH,
    VERSION_KEY_END,
    VERSION_NAME_END,
    VERSION_OFFSET,
    VERSION_ROW,
    VERSION_SINCE,
    VERSION_TIME,
    VERSION_TYPE,
    VERSION_VALUE_END,
)

_FIELDS = {
    '{"addingReplicas":': PART_ADDING, ',"directories":': PART_DIRECTORIES,
    ',"eligibleLeaderReplicas":': PART_ELR, ',"isr":': PART_ISR,
    ',"lastKnownElr":': PART_LAST_KNOWN_ELR, ',"leader":': PART_LEADER,
    ',"leaderEpoch":': PART_LEADER_EPOCH, ',"leaderRecoveryState":': PART_RECOVERY,
    ',"partitionEpoch":': PART_EPOCH, ',"partitionId":': SLOT_KEY_B,
    ',"removingReplicas":': PART_REMOVING, ',"replicas":': PART_REPLICAS,
}  # fmt: skip
_WORDS = (*_FIELDS, ',"topicId":"', '"}', "}")
_COLUMNS = np.array([*_FIELDS.values()], np.int64)
_FIELD_COUNT = len(_FIELDS)
_TOPIC, _TEXT_END, _END = range(_FIELD_COUNT, _FIELD_COUNT + 3)
_ADDING, _REMOVING = map([*_FIELDS.values()].index, (PART_ADDING, PART_REMOVING))
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
    if column < PART_REPLICAS:
        end: int = put_integer(book.texts, to, number)
        return end
    start, size = get(slots, number, LIST_TEXT), get(slots, number, LIST_TEXT_SIZE)
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
    topic = get(slots, slot, SLOT_KEY_A)
    start = get(slots, topic, TOPIC_TEXT)
    to = copy(book.texts, to, book.table.arena, start, long(UUID_TEXT_SIZE))
    end: int = _word(book.texts, to, long(_TEXT_END))
    return end


@inner
def lists_size(slots: Longs, slot: int) -> int:
    """The size in bytes of the JSON of a partition's lists."""
    size = long(0)
    for column in range(PART_REPLICAS, PART_LAST_KNOWN_ELR + 1):
        size += get(slots, get(slots, slot, column), LIST_TEXT_SIZE)
    return size


@inner
def _left(state: Longs, text: int) -> int:
    return item(state, TEXT_END + text) - item(state, TEXT_AT + text)


@inner
def has_room(slots: Longs, state: Longs, topic: int, old_size: int, new_size: int) -> bool:
    """Whether there is room for everything that one record may tell. old_size, new_size: the
    lists_size before and after the record."""
    name_size = get(slots, topic, TOPIC_NAME_SIZE) + _DIGITS
    key_size = long(UUID_TEXT_SIZE + _DIGITS)
    return (
        item(state, TOLD_VERSIONS) < MOST_TOLD
        and item(state, TOLD_CHANGES) <= MOST_TOLD - MOST_CHANGES
        and _left(state, V_KEY) > key_size
        and _left(state, V_NAME) > name_size
        and _left(state, V_VALUE) > old_size + ROOM_OF_NUMBERS
        and _left(state, C_KEY) > MOST_CHANGES * key_size
        and _left(state, C_NAME) > MOST_CHANGES * name_size
        and _left(state, C_OLD) > old_size + ROOM_OF_NUMBERS
        and _left(state, C_NEW) > new_size + ROOM_OF_NUMBERS
    )


@inner
def _put_label(book: Book, slot: int, text: int, sign: int) -> int:
    """Write TOPIC:ID with the topic's id, or TOPIC-ID with its name, by the sign. Returns where the
    text ends, counted from the beginning of such texts."""
    slots, state = book.table.slots, book.table.state
    topic = get(slots, slot, SLOT_KEY_A)
    start, size = get(slots, topic, TOPIC_TEXT), long(UUID_TEXT_SIZE)
    if sign == _DASH:
        start, size = start + UUID_TEXT_SIZE, get(slots, topic, TOPIC_NAME_SIZE)
    to = copy(book.texts, item(state, TEXT_AT + text), book.table.arena, start, size)
    store_8(book.texts, to, sign)
    to = put_integer(book.texts, to + 1, get(slots, slot, SLOT_KEY_B))
    set_item(state, TEXT_AT + text, to)
    return to - item(state, TEXT_FIRST + text)


@inner
def _tell(told: Longs, column: int, place: int, number: int) -> None:
    set_item(told, column * MOST_TOLD + place, number)


@inner
def tell_version(book: Book, slot: int, row: int) -> None:
    """Tell that the present version of a partition ends with `row`."""
    slots, state, told = book.table.slots, book.table.state, book.told
    place = item(state, TOLD_VERSIONS)
    set_item(state, TOLD_VERSIONS, place + 1)
    _tell(told, long(VERSION_ROW), place, row)
    _tell(told, long(VERSION_SINCE), place, get(slots, slot, SINCE_OFFSET))
    _tell(told, long(VERSION_TIME), place, get(slots, slot, SINCE_TIME))
    _tell(told, long(VERSION_EPOCH), place, get(slots, slot, SINCE_EPOCH))
    _tell(told, long(VERSION_OFFSET), place, get(slots, slot, SLOT_OFFSET))
    _tell(told, long(VERSION_TYPE), place, get(slots, slot, SINCE_TYPE))
    _tell(told, long(VERSION_KEY_END), place, _put_label(book, slot, long(V_KEY), long(_COLON)))
    _tell(told, long(VERSION_NAME_END), place, _put_label(book, slot, long(V_NAME), long(_DASH)))
    to = _put_value(book, item(state, TEXT_AT + V_VALUE), slot)
    set_item(state, TEXT_AT + V_VALUE, to)
    _tell(told, long(VERSION_VALUE_END), place, to - item(state, TEXT_FIRST + V_VALUE))


@inner
def _tell_change(book: Book, slot: int, row: int, change: int) -> None:
    """Tell a change whose old and new text are written."""
    state, told = book.table.state, book.told
    place = item(state, TOLD_CHANGES)
    set_item(state, TOLD_CHANGES, place + 1)
    _tell(told, long(CHANGE_ROW), place, row)
    _tell(told, long(CHANGE_TYPE), place, change)
    _tell(told, long(CHANGE_KEY_END), place, _put_label(book, slot, long(C_KEY), long(_COLON)))
    _tell(told, long(CHANGE_NAME_END), place, _put_label(book, slot, long(C_NAME), long(_DASH)))
    end = item(state, TEXT_AT + C_OLD) - item(state, TEXT_FIRST + C_OLD)
    _tell(told, long(CHANGE_OLD_END), place, end)
    end = item(state, TEXT_AT + C_NEW) - item(state, TEXT_FIRST + C_NEW)
    _tell(told, long(CHANGE_NEW_END), place, end)


@inner
def tell_creation(book: Book, slot: int, row: int, change: int) -> None:
    """Tell that a partition is new; the new text is its value."""
    state = book.table.state
    set_item(state, TEXT_AT + C_NEW, _put_value(book, item(state, TEXT_AT + C_NEW), slot))
    _tell_change(book, slot, row, change)


@inner
def tell_part(
    book: Book, slot: int, row: int, change: int, column: int, old: int, new: int
) -> None:
    """Tell that a column of the partition changed: a number, or the slot of a list."""
    state = book.table.state
    set_item(state, TEXT_AT + C_OLD, _put_part(book, item(state, TEXT_AT + C_OLD), column, old))
    set_item(state, TEXT_AT + C_NEW, _put_part(book, item(state, TEXT_AT + C_NEW), column, new))
    _tell_change(book, slot, row, change)


@inner
def _put_moves(book: Book, text: int, adding: int, removing: int) -> None:
    state = book.table.state
    to = _put_field(book, item(state, TEXT_AT + text), long(_ADDING), adding)
    to = _put_field(book, to, long(_REMOVING), removing)
    set_item(state, TEXT_AT + text, _word(book.texts, to, long(_END)))


@inner
def tell_moves(book: Book, slot: int, row: int, change: int, adding: int, removing: int) -> None:
    """Tell that adding or removing replicas changed. adding, removing: the slots of the lists
    before."""
    slots = book.table.slots
    _put_moves(book, long(C_OLD), adding, removing)
    now = get(slots, slot, PART_ADDING), get(slots, slot, PART_REMOVING)
    _put_moves(book, long(C_NEW), now[0], now[1])
    _tell_change(book, slot, row, change)
