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
"""The most characters of an int32, with its sign and the character before the number."""


class ReportBuffers(NamedTuple):
    """The arrays for what is reported of partitions, with the columns of
    replica.scan.version_tables."""

    table: Table
    """The slots of the partitions."""
    texts: Bytes
    numbers: Longs


@inner
def _word(texts: Bytes, to: int, which: int) -> int:
    start = item(_STARTS, which)
    return copy(texts, to, _TEXT, start, item(_ENDS, which) - start)


@inner
def _put_part(buffers: ReportBuffers, to: int, column: int, number: int) -> int:
    """Write the value of a column: the number, or the JSON of the list whose slot is `number`.
    Returns the position after the text."""
    slots = buffers.table.slots
    if column < t.PART_REPLICAS:
        return put_integer(buffers.texts, to, number)
    start, size = get(slots, number, v.LIST_TEXT), get(slots, number, v.LIST_TEXT_SIZE)
    return copy(buffers.texts, to, buffers.table.arena, start, size)


@inner
def _put_field(buffers: ReportBuffers, to: int, which: int, number: int) -> int:
    """Write the name of a field and its value, which `_put_part` writes. Returns the position
    behind the text."""
    to = _word(buffers.texts, to, which)
    return _put_part(buffers, to, item(_COLUMNS, which), number)


@inner
def _put_value(buffers: ReportBuffers, to: int, slot: int) -> int:
    """Write the JSON of a partition: the same text as that of
    replica.metadata.image.partition.text_of. Returns the position after the text."""
    slots = buffers.table.slots
    for which in range(_FIELD_COUNT):
        to = _put_field(buffers, to, which, get(slots, slot, item(_COLUMNS, which)))
    to = _word(buffers.texts, to, long(_TOPIC))
    topic = get(slots, slot, t.SLOT_KEY_A)
    start = get(slots, topic, v.TOPIC_TEXT)
    to = copy(buffers.texts, to, buffers.table.arena, start, long(v.UUID_TEXT_SIZE))
    return _word(buffers.texts, to, long(_TEXT_END))


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
        item(state, v.REPORT_VERSIONS) < v.MAX_REPORTED
        and item(state, v.REPORT_CHANGES) <= v.MAX_REPORTED - v.MOST_CHANGES
        and _left(state, v.V_KEY) > key_size
        and _left(state, v.V_NAME) > name_size
        and _left(state, v.V_VALUE) > old_size + v.ROOM_OF_NUMBERS
        and _left(state, v.C_KEY) > v.MOST_CHANGES * key_size
        and _left(state, v.C_NAME) > v.MOST_CHANGES * name_size
        and _left(state, v.C_OLD) > old_size + v.ROOM_OF_NUMBERS
        and _left(state, v.C_NEW) > new_size + v.ROOM_OF_NUMBERS
    )


@inner
def _add_label(buffers: ReportBuffers, slot: int, text: int, sign: int) -> None:
    """Add a text TOPIC:ID, with the topic's id, or TOPIC-ID, with its name. sign: the character
    between both parts."""
    slots, state = buffers.table.slots, buffers.table.state
    topic = get(slots, slot, t.SLOT_KEY_A)
    start, size = get(slots, topic, v.TOPIC_TEXT), long(v.UUID_TEXT_SIZE)
    if sign == _DASH:
        start, size = start + v.UUID_TEXT_SIZE, get(slots, topic, v.TOPIC_NAME_SIZE)
    to = copy(buffers.texts, item(state, v.TEXT_AT + text), buffers.table.arena, start, size)
    store_8(buffers.texts, to, sign)
    to = put_integer(buffers.texts, to + 1, get(slots, slot, t.SLOT_KEY_B))
    set_item(state, v.TEXT_AT + text, to)


@inner
def _add_part(buffers: ReportBuffers, text: int, column: int, number: int) -> None:
    """Add a text that `_put_part` writes."""
    state = buffers.table.state
    to = _put_part(buffers, item(state, v.TEXT_AT + text), column, number)
    set_item(state, v.TEXT_AT + text, to)


@inner
def _add_value(buffers: ReportBuffers, text: int, slot: int) -> None:
    """Add a text that `_put_value` writes."""
    state = buffers.table.state
    set_item(state, v.TEXT_AT + text, _put_value(buffers, item(state, v.TEXT_AT + text), slot))


@inner
def _report(numbers: Longs, column: int, place: int, number: int) -> None:
    set_item(numbers, column * v.MAX_REPORTED + place, number)


@inner
def report_version(buffers: ReportBuffers, slot: int, row: int) -> None:
    """Report that the present version of a partition ends with `row`."""
    slots, state, numbers = buffers.table.slots, buffers.table.state, buffers.numbers
    place = item(state, v.REPORT_VERSIONS)
    set_item(state, v.REPORT_VERSIONS, place + 1)
    _report(numbers, long(v.VERSION_ROW), place, row)
    _report(numbers, long(v.VERSION_SINCE), place, get(slots, slot, v.SINCE_OFFSET))
    _report(numbers, long(v.VERSION_TIME), place, get(slots, slot, v.SINCE_TIME))
    _report(numbers, long(v.VERSION_EPOCH), place, get(slots, slot, v.SINCE_EPOCH))
    _report(numbers, long(v.VERSION_OFFSET), place, get(slots, slot, t.SLOT_OFFSET))
    _report(numbers, long(v.VERSION_TYPE), place, get(slots, slot, v.SINCE_TYPE))
    _add_label(buffers, slot, long(v.V_KEY), long(_COLON))
    _add_label(buffers, slot, long(v.V_NAME), long(_DASH))
    _add_value(buffers, long(v.V_VALUE), slot)
    for k in range(v.VERSION_TEXTS):
        _report(numbers, v.VERSION_KEY_END + k, place, _used(state, v.V_KEY + k))


@inner
def _report_change(buffers: ReportBuffers, slot: int, row: int, change: int) -> None:
    """Report a change whose old and new text are written already."""
    state, numbers = buffers.table.state, buffers.numbers
    place = item(state, v.REPORT_CHANGES)
    set_item(state, v.REPORT_CHANGES, place + 1)
    _report(numbers, long(v.CHANGE_ROW), place, row)
    _report(numbers, long(v.CHANGE_TYPE), place, change)
    _add_label(buffers, slot, long(v.C_KEY), long(_COLON))
    _add_label(buffers, slot, long(v.C_NAME), long(_DASH))
    for k in range(v.CHANGE_TEXTS):
        _report(numbers, v.CHANGE_KEY_END + k, place, _used(state, v.C_KEY + k))


@inner
def report_creation(buffers: ReportBuffers, slot: int, row: int, change: int) -> None:
    """Report that a partition was created. The new text of this change is the JSON of the
    partition."""
    _add_value(buffers, long(v.C_NEW), slot)
    _report_change(buffers, slot, row, change)


@inner
def report_part(
    buffers: ReportBuffers, slot: int, row: int, change: int, column: int, old: int, new: int
) -> None:
    """Report that a column of a partition changed. old, new: the column before and after the
    change, each a number or the slot of a list."""
    _add_part(buffers, long(v.C_OLD), column, old)
    _add_part(buffers, long(v.C_NEW), column, new)
    _report_change(buffers, slot, row, change)


@inner
def _add_moves(buffers: ReportBuffers, text: int, adding: int, removing: int) -> None:
    state = buffers.table.state
    to = _put_field(buffers, item(state, v.TEXT_AT + text), long(_ADDING), adding)
    to = _put_field(buffers, to, long(_REMOVING), removing)
    set_item(state, v.TEXT_AT + text, _word(buffers.texts, to, long(_END)))


@inner
def report_moves(
    buffers: ReportBuffers, slot: int, row: int, change: int, adding: int, removing: int
) -> None:
    """Report that the adding or removing replicas changed. adding, removing: the slots of the lists
    of adding and removing replicas before the change."""
    slots = buffers.table.slots
    _add_moves(buffers, long(v.C_OLD), adding, removing)
    now = get(slots, slot, t.PART_ADDING), get(slots, slot, t.PART_REMOVING)
    _add_moves(buffers, long(v.C_NEW), now[0], now[1])
    _report_change(buffers, slot, row, change)
