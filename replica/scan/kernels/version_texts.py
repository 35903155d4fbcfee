"""What the kernel of version_rows tells of a partition: texts, and the rows that they belong to."""

from __future__ import annotations

import numpy as np

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import item, long, set_item, store_8
from replica.scan.kernels.slots import get
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

_WORDS = (
    '{"addingReplicas":', ',"directories":', ',"eligibleLeaderReplicas":', ',"isr":',
    ',"lastKnownElr":', ',"leader":', ',"leaderEpoch":', ',"leaderRecoveryState":',
    ',"partitionEpoch":', ',"partitionId":', ',"removingReplicas":', ',"replicas":',
    ',"topicId":"', '"}', "}",
)  # fmt: skip
(
    _ADDING,
    _DIRECTORIES,
    _ELR,
    _ISR,
    _LAST_KNOWN,
    _LEADER,
    _LEADER_EPOCH,
    _RECOVERY,
    _EPOCH,
    _ID,
    _REMOVING,
    _REPLICAS,
    _TOPIC,
    _TEXT_END,
    _END,
) = range(15)
_TEXT = np.frombuffer("".join(_WORDS).encode() + bytes(8), np.uint8)
_ENDS = np.cumsum([len(word) for word in _WORDS], dtype=np.int64)
_STARTS = np.array([end - len(word) for end, word in zip(_ENDS, _WORDS, strict=True)], np.int64)
_DASH, _COLON = 0x2D, 0x3A
_DIGITS = 12
"""Of an int32 and its sign, and the character before it."""


@inner
def _word(texts: Bytes, to: int, which: int) -> int:
    start = item(_STARTS, which)
    end: int = copy(texts, to, _TEXT, start, item(_ENDS, which) - start)
    return end


@inner
def _list(texts: Bytes, to: int, slots: Longs, arena: Bytes, which: int) -> int:
    end: int = copy(
        texts, to, arena, get(slots, which, LIST_TEXT), get(slots, which, LIST_TEXT_SIZE)
    )
    return end


@inner
def _put_value(texts: Bytes, to: int, slots: Longs, arena: Bytes, slot: int) -> int:
    """The JSON of a partition: replica.metadata.image.partition.text_of."""
    to = _word(texts, to, long(_ADDING))
    to = _list(texts, to, slots, arena, get(slots, slot, PART_ADDING))
    to = _word(texts, to, long(_DIRECTORIES))
    to = _list(texts, to, slots, arena, get(slots, slot, PART_DIRECTORIES))
    to = _word(texts, to, long(_ELR))
    to = _list(texts, to, slots, arena, get(slots, slot, PART_ELR))
    to = _word(texts, to, long(_ISR))
    to = _list(texts, to, slots, arena, get(slots, slot, PART_ISR))
    to = _word(texts, to, long(_LAST_KNOWN))
    to = _list(texts, to, slots, arena, get(slots, slot, PART_LAST_KNOWN_ELR))
    to = _word(texts, to, long(_LEADER))
    to = put_integer(texts, to, get(slots, slot, PART_LEADER))
    to = _word(texts, to, long(_LEADER_EPOCH))
    to = put_integer(texts, to, get(slots, slot, PART_LEADER_EPOCH))
    to = _word(texts, to, long(_RECOVERY))
    to = put_integer(texts, to, get(slots, slot, PART_RECOVERY))
    to = _word(texts, to, long(_EPOCH))
    to = put_integer(texts, to, get(slots, slot, PART_EPOCH))
    to = _word(texts, to, long(_ID))
    to = put_integer(texts, to, get(slots, slot, SLOT_KEY_B))
    to = _word(texts, to, long(_REMOVING))
    to = _list(texts, to, slots, arena, get(slots, slot, PART_REMOVING))
    to = _word(texts, to, long(_REPLICAS))
    to = _list(texts, to, slots, arena, get(slots, slot, PART_REPLICAS))
    to = _word(texts, to, long(_TOPIC))
    topic = get(slots, slot, SLOT_KEY_A)
    to = copy(texts, to, arena, get(slots, topic, TOPIC_TEXT), long(UUID_TEXT_SIZE))
    end: int = _word(texts, to, long(_TEXT_END))
    return end


@inner
def lists_size(slots: Longs, slot: int) -> int:
    """Bytes of the JSON of a partition's lists."""
    size = long(0)
    for column in range(PART_REPLICAS, PART_LAST_KNOWN_ELR + 1):
        size += get(slots, get(slots, slot, column), LIST_TEXT_SIZE)
    return size


@inner
def _left(state: Longs, text: int) -> int:
    return item(state, TEXT_END + text) - item(state, TEXT_AT + text)


@inner
def has_room(slots: Longs, state: Longs, topic: int, old_size: int, new_size: int) -> bool:
    """Whether all can be told that a record may say. The sizes: as of lists_size, before and after
    the record."""
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
def _put_key(texts: Bytes, state: Longs, slots: Longs, arena: Bytes, slot: int, text: int) -> int:
    """Where it ends, from the beginning of such texts."""
    topic = get(slots, slot, SLOT_KEY_A)
    to = item(state, TEXT_AT + text)
    to = copy(texts, to, arena, get(slots, topic, TOPIC_TEXT), long(UUID_TEXT_SIZE))
    store_8(texts, to, long(_COLON))
    to = put_integer(texts, to + 1, get(slots, slot, SLOT_KEY_B))
    set_item(state, TEXT_AT + text, to)
    return to - item(state, TEXT_FIRST + text)


@inner
def _put_name(texts: Bytes, state: Longs, slots: Longs, arena: Bytes, slot: int, text: int) -> int:
    topic = get(slots, slot, SLOT_KEY_A)
    to = item(state, TEXT_AT + text)
    start = get(slots, topic, TOPIC_TEXT) + UUID_TEXT_SIZE
    to = copy(texts, to, arena, start, get(slots, topic, TOPIC_NAME_SIZE))
    store_8(texts, to, long(_DASH))
    to = put_integer(texts, to + 1, get(slots, slot, SLOT_KEY_B))
    set_item(state, TEXT_AT + text, to)
    return to - item(state, TEXT_FIRST + text)


@inner
def _tell(told: Longs, column: int, place: int, number: int) -> None:
    set_item(told, column * MOST_TOLD + place, number)


@inner
def tell_version(
    slots: Longs, arena: Bytes, texts: Bytes, told: Longs, state: Longs, slot: int, row: int
) -> None:
    """The version that is valid now ends with `row`."""
    place = item(state, TOLD_VERSIONS)
    set_item(state, TOLD_VERSIONS, place + 1)
    _tell(told, long(VERSION_ROW), place, row)
    _tell(told, long(VERSION_SINCE), place, get(slots, slot, SINCE_OFFSET))
    _tell(told, long(VERSION_TIME), place, get(slots, slot, SINCE_TIME))
    _tell(told, long(VERSION_EPOCH), place, get(slots, slot, SINCE_EPOCH))
    _tell(told, long(VERSION_OFFSET), place, get(slots, slot, SLOT_OFFSET))
    _tell(told, long(VERSION_TYPE), place, get(slots, slot, SINCE_TYPE))
    end = _put_key(texts, state, slots, arena, slot, long(V_KEY))
    _tell(told, long(VERSION_KEY_END), place, end)
    end = _put_name(texts, state, slots, arena, slot, long(V_NAME))
    _tell(told, long(VERSION_NAME_END), place, end)
    to = _put_value(texts, item(state, TEXT_AT + V_VALUE), slots, arena, slot)
    set_item(state, TEXT_AT + V_VALUE, to)
    _tell(told, long(VERSION_VALUE_END), place, to - item(state, TEXT_FIRST + V_VALUE))


@inner
def _tell_change(
    slots: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    slot: int,
    row: int,
    change: int,
) -> None:
    """A change whose texts have been written."""
    place = item(state, TOLD_CHANGES)
    set_item(state, TOLD_CHANGES, place + 1)
    _tell(told, long(CHANGE_ROW), place, row)
    _tell(told, long(CHANGE_TYPE), place, change)
    end = _put_key(texts, state, slots, arena, slot, long(C_KEY))
    _tell(told, long(CHANGE_KEY_END), place, end)
    end = _put_name(texts, state, slots, arena, slot, long(C_NAME))
    _tell(told, long(CHANGE_NAME_END), place, end)
    end = item(state, TEXT_AT + C_OLD) - item(state, TEXT_FIRST + C_OLD)
    _tell(told, long(CHANGE_OLD_END), place, end)
    end = item(state, TEXT_AT + C_NEW) - item(state, TEXT_FIRST + C_NEW)
    _tell(told, long(CHANGE_NEW_END), place, end)


@inner
def tell_creation(
    slots: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    slot: int,
    row: int,
    change: int,
) -> None:
    """The partition is new; its value is the new text."""
    to = _put_value(texts, item(state, TEXT_AT + C_NEW), slots, arena, slot)
    set_item(state, TEXT_AT + C_NEW, to)
    _tell_change(slots, arena, texts, told, state, slot, row, change)


@inner
def tell_numbers(
    slots: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    slot: int,
    row: int,
    change: int,
    old: int,
    new: int,
) -> None:
    """A number of the partition changed."""
    set_item(state, TEXT_AT + C_OLD, put_integer(texts, item(state, TEXT_AT + C_OLD), old))
    set_item(state, TEXT_AT + C_NEW, put_integer(texts, item(state, TEXT_AT + C_NEW), new))
    _tell_change(slots, arena, texts, told, state, slot, row, change)


@inner
def tell_lists(
    slots: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    slot: int,
    row: int,
    change: int,
    old: int,
    new: int,
) -> None:
    """A list of the partition changed; old, new: slots of lists."""
    set_item(state, TEXT_AT + C_OLD, _list(texts, item(state, TEXT_AT + C_OLD), slots, arena, old))
    set_item(state, TEXT_AT + C_NEW, _list(texts, item(state, TEXT_AT + C_NEW), slots, arena, new))
    _tell_change(slots, arena, texts, told, state, slot, row, change)


@inner
def _put_moves(
    texts: Bytes, to: int, slots: Longs, arena: Bytes, adding: int, removing: int
) -> int:
    to = _word(texts, to, long(_ADDING))
    to = _list(texts, to, slots, arena, adding)
    to = _word(texts, to, long(_REMOVING))
    to = _list(texts, to, slots, arena, removing)
    end: int = _word(texts, to, long(_END))
    return end


@inner
def tell_moves(
    slots: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    slot: int,
    row: int,
    change: int,
    adding: int,
    removing: int,
) -> None:
    """What is added and removed changed; adding, removing: the slots of the lists before."""
    to = _put_moves(texts, item(state, TEXT_AT + C_OLD), slots, arena, adding, removing)
    set_item(state, TEXT_AT + C_OLD, to)
    now = get(slots, slot, PART_ADDING), get(slots, slot, PART_REMOVING)
    to = _put_moves(texts, item(state, TEXT_AT + C_NEW), slots, arena, now[0], now[1])
    set_item(state, TEXT_AT + C_NEW, to)
    _tell_change(slots, arena, texts, told, state, slot, row, change)
