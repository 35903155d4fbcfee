"""The kernel that tells what records write to partitions: versions that end, and changes.

It does for PARTITION_RECORD and PARTITION_CHANGE_RECORD what the modules partition of
replica.metadata.image and partitions of replica.metadata.changes do. It stops at each row that it
can't take, which is then the scalar replay's; see replica.scan.partition_versions. Of topics it
notes the new ones; of all others it is told what the scalar replay has made of them.
"""

from __future__ import annotations

from replica.scan.frames import ENVELOPE_BYTES, ROWS
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import byte_at, item, load_i32, load_i64, long, set_item
from replica.scan.kernels.prefetch import fetch_ahead
from replica.scan.kernels.slots import (
    NONE,
    find_bytes,
    find_pair,
    get,
    hash_of_bytes,
    put,
    slot_of_bytes,
    slot_of_pair,
)
from replica.scan.kernels.straight import place_finder
from replica.scan.kernels.text import copy, put_uuid
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.kernels.version_changes import tell_changes
from replica.scan.kernels.version_fields import (
    fresh,
    fresh_size,
    layout,
    place_of,
    read_partition,
    set_fresh,
)
from replica.scan.kernels.version_lists import (
    ints_in,
)
from replica.scan.kernels.version_texts import (
    has_room,
    lists_size,
    tell_creation,
    tell_version,
)
from replica.scan.native import Bytes, Longs
from replica.scan.replay_tables import (
    DO_CHANGE,
    DO_PARTITION,
    DO_REMOVE_TOPIC,
    DO_TOPIC,
    FIELD_NAME,
    FIELD_PARTITION_ID,
    FIELD_TOPIC_ID,
    LAYOUT_ACTION,
    NAME,
    NOBODY,
    PARTITION,
    SLOT_CHANGED,
    SLOT_COLUMNS,
    SLOT_KEY_A,
    SLOT_KIND,
    SLOT_LIFE,
    SLOT_OFFSET,
    STATE_ARENA,
    STATE_SLOTS,
    STATE_STOP,
    STOP_APPLY,
    STOP_DONE,
    STOP_REFUSED,
    TOPIC,
)
from replica.scan.version_tables import (
    ARENA_OF_ROW,
    ARENA_PER_BYTE,
    ARENA_PER_REPLICA,
    CREATED,
    PART_FIELDS,
    PART_LEADER,
    PART_NEXT,
    PART_REPLICAS,
    ROW_EPOCH,
    ROW_OFFSET,
    ROW_PROGRAM,
    ROW_SINCE,
    ROW_TIME,
    ROW_TYPE,
    ROW_VALUE,
    ROW_VALUE_SIZE,
    SINCE_EPOCH,
    SINCE_OFFSET,
    SINCE_TIME,
    SINCE_TYPE,
    SLOTS_OF_ROW,
    STOP_FULL,
    STOP_SLOTS,
    TOLD_EXPLAINED,
    TOLD_REFUSED,
    TOLD_SILENT,
    TOLD_TOPIC,
    TOPIC_EPOCH,
    TOPIC_EXISTS,
    TOPIC_FIRST,
    TOPIC_NAME_SIZE,
    TOPIC_ROW,
    TOPIC_TEXT,
    TOPIC_TIME,
    UUID_TEXT_SIZE,
)

_find_places = place_finder()


@inner
def _has_arena(arena: Bytes, state: Longs, wanted: int) -> bool:
    """Whether it has room for so many bytes, and for as many again as a row may always want."""
    return item(state, STATE_ARENA) + 2 * wanted + ARENA_OF_ROW <= arena.size


@inner
def _join(slots: Longs, topic: int, slot: int) -> None:
    """Makes the partition one of its topic."""
    put(slots, slot, SLOT_LIFE, get(slots, topic, SLOT_LIFE))
    put(slots, slot, PART_NEXT, get(slots, topic, TOPIC_FIRST))
    put(slots, topic, TOPIC_FIRST, slot)


@inner
def _write(rows: Longs, row: int, slots: Longs, state: Longs, places: Longs, slot: int) -> None:
    """Makes the row's values the slot's; `places` has those of before from now on."""
    for column in range(PART_LEADER, PART_LEADER + PART_FIELDS):
        before = get(slots, slot, column)
        put(slots, slot, column, fresh(places, column))
        set_fresh(places, column, before)
    put(slots, slot, SLOT_CHANGED, 1 - item(state, TOLD_SILENT))
    put(slots, slot, SLOT_OFFSET, item(rows, ROW_OFFSET * ROWS + row))
    put(slots, slot, SINCE_OFFSET, item(rows, ROW_SINCE * ROWS + row))
    put(slots, slot, SINCE_TIME, item(rows, ROW_TIME * ROWS + row))
    put(slots, slot, SINCE_EPOCH, item(rows, ROW_EPOCH * ROWS + row))
    put(slots, slot, SINCE_TYPE, item(rows, ROW_TYPE * ROWS + row))


@inner
def _partition_row(
    source: Bytes,
    rows: Longs,
    row: int,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    places: Longs,
    program: int,
    action: int,
    topic: int,
) -> int:
    """The STOP code."""
    number = long(load_i32(source, place_of(places, program, long(FIELD_PARTITION_ID))))
    slot = find_pair(slots, index, state, long(PARTITION), topic, number)
    is_there = slot != NONE and get(slots, slot, SLOT_LIFE) == get(slots, topic, SLOT_LIFE)
    if action == DO_CHANGE and not is_there:
        return STOP_REFUSED
    if is_there and not _has_arena(
        arena, state, ARENA_PER_REPLICA * ints_in(slots, get(slots, slot, PART_REPLICAS))
    ):
        return STOP_SLOTS
    base = slot if action == DO_CHANGE else long(NONE)
    if not read_partition(source, slots, index, arena, state, places, program, base):
        return STOP_REFUSED
    is_silent = item(state, TOLD_SILENT) == 1
    if not is_silent:
        old_size = lists_size(slots, slot) if is_there else long(0)
        if not has_room(slots, state, topic, old_size, fresh_size(slots, places)):
            return STOP_FULL
        if is_there:
            tell_version(slots, arena, texts, told, state, slot, row)
    if not is_there:
        slot = slot_of_pair(slots, index, state, long(PARTITION), topic, number)
        _join(slots, topic, slot)
    _write(rows, row, slots, state, places, slot)
    if is_silent:
        return STOP_DONE
    if is_there:
        tell_changes(slots, arena, texts, told, state, places, slot, row)
    else:
        tell_creation(slots, arena, texts, told, state, slot, row, long(CREATED))
    return STOP_DONE


@inner
def _is_plain(source: Bytes, start: int, size: int) -> bool:
    """Whether a text is of characters that JSON has as they are, all of them ASCII."""
    for k in range(size):
        byte = byte_at(source, start + k)
        if byte < 0x20 or byte > 0x7E or byte == 0x22 or byte == 0x5C:
            return False
    return True


@inner
def _is_new_topic(
    source: Bytes,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    places: Longs,
    program: int,
    action: int,
) -> bool:
    """Whether the row creates a topic, of an id that never was, and of a name that none had that
    was removed."""
    if action != DO_TOPIC:
        return False
    at = place_of(places, program, long(FIELD_TOPIC_ID))
    halves = load_i64(source, at), load_i64(source, at + 8)
    if find_pair(slots, index, state, long(TOPIC), halves[0], halves[1]) != NONE:
        return False
    text = place_of(places, program, long(FIELD_NAME))
    size, start = unsigned_varint(source, text, source.size)
    hashed = hash_of_bytes(state, long(NAME), source, start, size - 1)
    former = find_bytes(slots, index, arena, long(NAME), hashed, source, start, size - 1)
    return former == NONE and _is_plain(source, start, size - 1)


@inner
def _topic_row(
    source: Bytes,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    places: Longs,
    program: int,
    action: int,
) -> int:
    """The topic's slot."""
    at = place_of(places, program, long(FIELD_TOPIC_ID))
    halves = load_i64(source, at), load_i64(source, at + 8)
    topic = slot_of_pair(slots, index, state, long(TOPIC), halves[0], halves[1])
    put(slots, topic, SLOT_LIFE, get(slots, topic, SLOT_LIFE) + 1)
    put(slots, topic, TOPIC_FIRST, long(NOBODY))
    put(slots, topic, TOPIC_EXISTS, long(action == DO_TOPIC))
    set_item(state, TOLD_TOPIC, topic)
    if action == DO_TOPIC:
        text = place_of(places, program, long(FIELD_NAME))
        size, start = unsigned_varint(source, text, source.size)
        arena_end = item(state, STATE_ARENA)
        put(slots, topic, TOPIC_TEXT, arena_end)
        put(slots, topic, TOPIC_NAME_SIZE, size - 1)
        put_uuid(arena, arena_end, source, at)
        to = copy(arena, arena_end + UUID_TEXT_SIZE, source, start, size - 1)
        set_item(state, STATE_ARENA, to)
    elif get(slots, topic, TOPIC_TEXT) >= 0:
        start = get(slots, topic, TOPIC_TEXT) + UUID_TEXT_SIZE
        size = get(slots, topic, TOPIC_NAME_SIZE)
        slot_of_bytes(slots, index, arena, state, long(NAME), arena, start, size)
    return topic


@inner
def _row(
    source: Bytes,
    rows: Longs,
    row: int,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    places: Longs,
    program: int,
) -> int:
    """The STOP code."""
    start = item(rows, ROW_VALUE * ROWS + row) + ENVELOPE_BYTES
    size = item(rows, ROW_VALUE_SIZE * ROWS + row)
    end = start - ENVELOPE_BYTES + size
    used = (item(state, STATE_SLOTS) + SLOTS_OF_ROW) * SLOT_COLUMNS
    if used > slots.size or not _has_arena(arena, state, ARENA_PER_BYTE * size):
        return STOP_SLOTS
    if not _find_places(source, start, end, program, places):
        return STOP_APPLY
    action = layout(program, long(LAYOUT_ACTION))
    if DO_TOPIC <= action <= DO_REMOVE_TOPIC:
        if item(state, TOLD_SILENT) == 0:
            held = _is_new_topic(source, slots, index, arena, state, places, program, action)
            if not held:
                return STOP_APPLY
        topic = _topic_row(source, slots, index, arena, state, places, program, action)
        put(slots, topic, SLOT_CHANGED, 1 - item(state, TOLD_SILENT))
        put(slots, topic, SLOT_OFFSET, item(rows, ROW_OFFSET * ROWS + row))
        put(slots, topic, TOPIC_TIME, item(rows, ROW_TIME * ROWS + row))
        put(slots, topic, TOPIC_EPOCH, item(rows, ROW_EPOCH * ROWS + row))
        put(slots, topic, TOPIC_ROW, row)
        return STOP_DONE
    if action != DO_PARTITION and action != DO_CHANGE:
        return STOP_APPLY
    at = place_of(places, program, long(FIELD_TOPIC_ID))
    halves = load_i64(source, at), load_i64(source, at + 8)
    topic = find_pair(slots, index, state, long(TOPIC), halves[0], halves[1])
    if topic == NONE or get(slots, topic, TOPIC_EXISTS) != 1:
        return STOP_REFUSED
    stop: int = _partition_row(
        source,
        rows,
        row,
        slots,
        index,
        arena,
        texts,
        told,
        state,
        places,
        program,
        action,
        topic,
    )
    return stop


def write_versions(
    source: Bytes,
    rows: Longs,
    low: int,
    high: int,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    places: Longs,
) -> int:
    """Replays the rows low <= row < high; the row at which it stopped, state[STATE_STOP] says why.

    slots, index, arena: with room for all that the rows may ask for, see PartitionVersions. texts,
    told: what they tell. places: MAX_WIDTH + PART_FIELDS items of scratch.
    """
    stop = long(STOP_DONE)
    row = low
    while row < high:
        fetch_ahead(source, rows, row, high, slots, index, state)
        program = item(rows, ROW_PROGRAM * ROWS + row)
        if program < 0:
            stop = long(STOP_APPLY)
            break
        stop = _row(source, rows, row, slots, index, arena, texts, told, state, places, program)
        if stop == STOP_REFUSED and item(state, TOLD_EXPLAINED) == 1:
            set_item(state, TOLD_REFUSED, item(state, TOLD_REFUSED) + 1)
            stop = long(STOP_DONE)
        if stop != STOP_DONE:
            break
        row += 1
    set_item(state, STATE_STOP, stop)
    return row


def open_versions(
    slots: Longs, arena: Bytes, texts: Bytes, told: Longs, state: Longs, first: int
) -> int:
    """Tells the versions that are valid now, from the slot `first` on; the slot at which there was
    no more room, or how many slots there are. Their row is -1."""
    slot = first
    while slot < item(state, STATE_SLOTS):
        if get(slots, slot, SLOT_KIND) == PARTITION:
            topic = get(slots, slot, SLOT_KEY_A)
            if get(slots, slot, SLOT_LIFE) == get(slots, topic, SLOT_LIFE):
                if not has_room(slots, state, topic, lists_size(slots, slot), long(0)):
                    break
                tell_version(slots, arena, texts, told, state, slot, long(-1))
        slot += 1
    return slot
