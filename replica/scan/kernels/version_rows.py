"""The kernel that tells what records change in partitions: versions that end, and changes.

For PARTITION_RECORD and PARTITION_CHANGE_RECORD it does what replica.metadata.image.partition and
replica.metadata.changes.partitions do. It stops at each row that it can't take, which is for the
scalar replay; see replica.scan.partition_versions. It takes new topics; of changes to other topics
the scalar replay tells it.
"""

from __future__ import annotations

from replica.scan.frames import ENVELOPE_BYTES, ROWS
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import byte_at, item, long, set_item
from replica.scan.kernels.prefetch import fetch_ahead
from replica.scan.kernels.records import (
    Record,
    int32_of,
    layout,
    place_of,
    text_of,
    topic_id_of,
)
from replica.scan.kernels.slots import (
    NONE,
    Table,
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
from replica.scan.kernels.version_changes import tell_changes
from replica.scan.kernels.version_fields import fresh, fresh_size, read_partition, set_fresh
from replica.scan.kernels.version_lists import count_of
from replica.scan.kernels.version_texts import (
    Book,
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
def _has_arena(table: Table, wanted: int) -> bool:
    """Whether the arena has room for `wanted` bytes twice, and for what any row may need."""
    return item(table.state, STATE_ARENA) + 2 * wanted + ARENA_OF_ROW <= table.arena.size


@inner
def _join(slots: Longs, topic: int, slot: int) -> None:
    """Add a partition to its topic."""
    put(slots, slot, SLOT_LIFE, get(slots, topic, SLOT_LIFE))
    put(slots, slot, PART_NEXT, get(slots, topic, TOPIC_FIRST))
    put(slots, topic, TOPIC_FIRST, slot)


@inner
def _stamp(table: Table, rows: Longs, row: int, slot: int) -> None:
    put(table.slots, slot, SLOT_CHANGED, 1 - item(table.state, TOLD_SILENT))
    put(table.slots, slot, SLOT_OFFSET, item(rows, ROW_OFFSET * ROWS + row))


@inner
def _write(table: Table, rows: Longs, row: int, places: Longs, slot: int) -> None:
    """Exchange the columns of the partition with the fresh ones: afterwards `places` holds those of
    before."""
    slots = table.slots
    for column in range(PART_LEADER, PART_LEADER + PART_FIELDS):
        before = get(slots, slot, column)
        put(slots, slot, column, fresh(places, column))
        set_fresh(places, column, before)
    _stamp(table, rows, row, slot)
    put(slots, slot, SINCE_OFFSET, item(rows, ROW_SINCE * ROWS + row))
    put(slots, slot, SINCE_TIME, item(rows, ROW_TIME * ROWS + row))
    put(slots, slot, SINCE_EPOCH, item(rows, ROW_EPOCH * ROWS + row))
    put(slots, slot, SINCE_TYPE, item(rows, ROW_TYPE * ROWS + row))


@inner
def _partition_row(
    book: Book, record: Record, rows: Longs, row: int, action: int, topic: int
) -> int:
    """The STOP code of a record about a partition."""
    table = book.table
    slots = table.slots
    number = int32_of(record, long(FIELD_PARTITION_ID))
    slot = find_pair(table, long(PARTITION), topic, number)
    is_there = slot != NONE and get(slots, slot, SLOT_LIFE) == get(slots, topic, SLOT_LIFE)
    if action == DO_CHANGE and not is_there:
        return STOP_REFUSED
    if is_there and not _has_arena(
        table, ARENA_PER_REPLICA * count_of(slots, get(slots, slot, PART_REPLICAS))
    ):
        return STOP_SLOTS
    base = slot if action == DO_CHANGE else long(NONE)
    if not read_partition(table, record, base):
        return STOP_REFUSED
    is_silent = item(table.state, TOLD_SILENT) == 1
    if not is_silent:
        old_size = lists_size(slots, slot) if is_there else long(0)
        if not has_room(slots, table.state, topic, old_size, fresh_size(slots, record.places)):
            return STOP_FULL
        if is_there:
            tell_version(book, slot, row)
    if not is_there:
        slot = slot_of_pair(table, long(PARTITION), topic, number)
        _join(slots, topic, slot)
    _write(table, rows, row, record.places, slot)
    if is_silent:
        return STOP_DONE
    if is_there:
        tell_changes(book, record.places, slot, row)
    else:
        tell_creation(book, slot, row, long(CREATED))
    return STOP_DONE


@inner
def _is_plain(source: Bytes, start: int, size: int) -> bool:
    """Whether a text has only ASCII characters that JSON writes as they are."""
    for k in range(size):
        byte = byte_at(source, start + k)
        if byte < 0x20 or byte > 0x7E or byte == 0x22 or byte == 0x5C:
            return False
    return True


@inner
def _is_new_topic(table: Table, record: Record, action: int) -> bool:
    """Whether the row creates a topic whose id is new, and whose name no removed topic had."""
    if action != DO_TOPIC:
        return False
    first, second = topic_id_of(record)
    if find_pair(table, long(TOPIC), first, second) != NONE:
        return False
    start, size = text_of(record, long(FIELD_NAME))
    hashed = hash_of_bytes(table.state, long(NAME), record.source, start, size)
    former = find_bytes(table, long(NAME), hashed, record.source, start, size)
    return former == NONE and _is_plain(record.source, start, size)


@inner
def _topic_row(table: Table, record: Record, action: int) -> int:
    """The slot of the topic that a row creates or removes."""
    slots, arena, state = table.slots, table.arena, table.state
    first, second = topic_id_of(record)
    topic = slot_of_pair(table, long(TOPIC), first, second)
    put(slots, topic, SLOT_LIFE, get(slots, topic, SLOT_LIFE) + 1)
    put(slots, topic, TOPIC_FIRST, long(NOBODY))
    put(slots, topic, TOPIC_EXISTS, long(action == DO_TOPIC))
    set_item(state, TOLD_TOPIC, topic)
    if action == DO_TOPIC:
        start, size = text_of(record, long(FIELD_NAME))
        arena_end = item(state, STATE_ARENA)
        put(slots, topic, TOPIC_TEXT, arena_end)
        put(slots, topic, TOPIC_NAME_SIZE, size)
        put_uuid(arena, arena_end, record.source, place_of(record, long(FIELD_TOPIC_ID)))
        to = copy(arena, arena_end + UUID_TEXT_SIZE, record.source, start, size)
        set_item(state, STATE_ARENA, to)
    elif get(slots, topic, TOPIC_TEXT) >= 0:
        start = get(slots, topic, TOPIC_TEXT) + UUID_TEXT_SIZE
        size = get(slots, topic, TOPIC_NAME_SIZE)
        slot_of_bytes(table, long(NAME), arena, start, size)
    return topic


@inner
def _row(book: Book, record: Record, rows: Longs, row: int) -> int:
    """The STOP code of a row of a known program."""
    table = book.table
    slots = table.slots
    size = item(rows, ROW_VALUE_SIZE * ROWS + row)
    start = item(rows, ROW_VALUE * ROWS + row)
    used = (item(table.state, STATE_SLOTS) + SLOTS_OF_ROW) * SLOT_COLUMNS
    if used > slots.size or not _has_arena(table, ARENA_PER_BYTE * size):
        return STOP_SLOTS
    fields, end = start + ENVELOPE_BYTES, start + size
    if not _find_places(record.source, fields, end, record.program, record.places):
        return STOP_APPLY
    action = layout(record.program, long(LAYOUT_ACTION))
    if DO_TOPIC <= action <= DO_REMOVE_TOPIC:
        is_silent = item(table.state, TOLD_SILENT) == 1
        if not is_silent and not _is_new_topic(table, record, action):
            return STOP_APPLY
        topic = _topic_row(table, record, action)
        _stamp(table, rows, row, topic)
        put(slots, topic, TOPIC_TIME, item(rows, ROW_TIME * ROWS + row))
        put(slots, topic, TOPIC_EPOCH, item(rows, ROW_EPOCH * ROWS + row))
        put(slots, topic, TOPIC_ROW, row)
        return STOP_DONE
    if action != DO_PARTITION and action != DO_CHANGE:
        return STOP_APPLY
    first, second = topic_id_of(record)
    topic = find_pair(table, long(TOPIC), first, second)
    if topic == NONE or get(slots, topic, TOPIC_EXISTS) != 1:
        return STOP_REFUSED
    stop: int = _partition_row(book, record, rows, row, action, topic)
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
    """Replay the rows low <= row < high. Returns the row at which it stopped; state[STATE_STOP]
    says why.

    slots, index, arena: see PartitionVersions, which gives them more room after STOP_SLOTS. texts,
    told: get what the rows tell. places: MAX_WIDTH + PART_FIELDS items of scratch.
    """
    book = Book(Table(slots, index, arena, state), texts, told)
    stop = long(STOP_DONE)
    row = low
    while row < high:
        fetch_ahead(source, rows, row, high, slots, index, state)
        program = item(rows, ROW_PROGRAM * ROWS + row)
        if program < 0:
            stop = long(STOP_APPLY)
            break
        stop = _row(book, Record(source, places, program), rows, row)
        if stop == STOP_REFUSED and item(state, TOLD_EXPLAINED) == 1:
            set_item(state, TOLD_REFUSED, item(state, TOLD_REFUSED) + 1)
            stop = long(STOP_DONE)
        if stop != STOP_DONE:
            break
        row += 1
    set_item(state, STATE_STOP, stop)
    return row


def open_versions(
    slots: Longs,
    index: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    first: int,
) -> int:
    """Tell the versions that are valid now, from the slot `first` on, as versions that end with row
    -1. Returns the slot for which there was no more room, or how many slots there are."""
    book = Book(Table(slots, index, arena, state), texts, told)
    slot = first
    while slot < item(state, STATE_SLOTS):
        if get(slots, slot, SLOT_KIND) == PARTITION:
            topic = get(slots, slot, SLOT_KEY_A)
            if get(slots, slot, SLOT_LIFE) == get(slots, topic, SLOT_LIFE):
                if not has_room(slots, state, topic, lists_size(slots, slot), long(0)):
                    break
                tell_version(book, slot, long(-1))
        slot += 1
    return slot
