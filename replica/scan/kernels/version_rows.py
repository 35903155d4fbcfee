"""The kernel that replays partitions, and reports the versions that end and the changes.

For PARTITION_RECORD and PARTITION_CHANGE_RECORD it has the same result as
replica.metadata.image.partition and replica.metadata.changes.partitions. The kernel also replays
the TOPIC_RECORD of a new topic. It stops at every other row, which the scalar replay takes.
replica.scan.partition_versions then gives the kernel what this row has changed.
"""

from __future__ import annotations

from replica.scan import frames
from replica.scan import replay_tables as t
from replica.scan import version_tables as v
from replica.scan.kernels import partitions
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import byte_at, item, long, set_item
from replica.scan.kernels.prefetch import fetch_ahead
from replica.scan.kernels.records import (
    Record,
    counted,
    int32_of,
    layout,
    live_topic,
    place_of,
    text_of,
    topic_id_of,
)
from replica.scan.kernels.rows import cell
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
from replica.scan.kernels.straight import renderer
from replica.scan.kernels.text import copy, put_uuid
from replica.scan.kernels.version_changes import report_changes
from replica.scan.kernels.version_lists import count_of, list_at, no_ints, zero_uuids
from replica.scan.kernels.version_texts import (
    ReportBuffers,
    has_room,
    lists_size,
    report_creation,
    report_version,
)
from replica.scan.native import Bytes, Longs


@inner
def spare_slot(slots: Longs) -> int:
    """The last slot for which there is room. No row takes this slot, because SLOTS_OF_ROW counts
    the spare slot too."""
    return long(slots.size // t.SLOT_COLUMNS - 1)


@inner
def _read_lists(table: Table, record: Record, slot: int, is_new: bool) -> None:
    """Set the lists that the record has. The other lists become empty if the partition is new, else
    they stay unchanged."""
    nothing = no_ints(table) if is_new else long(NONE)
    for column in range(t.PART_REPLICAS, t.PART_LAST_KNOWN_ELR + 1):
        place = place_of(record, column - t.PART_REPLICAS + t.FIELD_REPLICAS)
        if place != ABSENT:
            kind = long(v.UUIDS) if column == t.PART_DIRECTORIES else long(v.INTS)
            put(table.slots, slot, column, list_at(table, kind, record.source, place))
        elif is_new:
            put(table.slots, slot, column, nothing)


@inner
def read_partition(table: Table, record: Record, slot: int) -> bool:
    """Compute the new columns of a partition by a record, in the spare slot. Returns False if the
    record can't be applied. slot: the slot of the partition; NONE for a new partition."""
    slots = table.slots
    replicas = known = long(0)
    if slot != NONE:
        replicas = count_of(slots, get(slots, slot, t.PART_REPLICAS))
        directories = get(slots, slot, t.PART_DIRECTORIES)
        if get(slots, directories, v.LIST_IS_ZERO) != 1:
            known = count_of(slots, directories)
    replicas, known = partitions.counts_after(record, replicas, known)
    if replicas == partitions.NOT_APPLICABLE:
        return False
    new = spare_slot(slots)
    if slot == NONE:
        partitions.register(slots, record, new)
    else:
        for column in range(t.PART_LEADER, t.PART_LEADER + v.PART_FIELDS):
            put(slots, new, column, get(slots, slot, column))
        partitions.change(slots, record, new)
    _read_lists(table, record, new, slot == NONE)
    if known == 0:
        put(slots, new, t.PART_DIRECTORIES, zero_uuids(table, replicas))
    return True


_find_places = renderer("places")


@inner
def _has_arena(table: Table, wanted: int) -> bool:
    """Whether the arena has room for twice `wanted` bytes, and for the bytes that any row may
    need."""
    return item(table.state, t.STATE_ARENA) + 2 * wanted + v.ARENA_OF_ROW <= table.arena.size


@inner
def _join(slots: Longs, topic: int, slot: int) -> None:
    """Add a partition to its topic."""
    put(slots, slot, t.SLOT_LIFE, get(slots, topic, t.SLOT_LIFE))
    put(slots, slot, v.PART_NEXT, get(slots, topic, v.TOPIC_FIRST))
    put(slots, topic, v.TOPIC_FIRST, slot)


@inner
def _stamp(table: Table, rows: Longs, row: int, slot: int) -> None:
    """Note in a slot the offset of the row. Also note that the slot changed, unless
    state[REPORT_SILENT] is 1."""
    put(table.slots, slot, t.SLOT_CHANGED, 1 - item(table.state, v.REPORT_SILENT))
    put(table.slots, slot, t.SLOT_OFFSET, cell(rows, v.ROW_OFFSET, row))


@inner
def _write(table: Table, rows: Longs, row: int, new: int, slot: int) -> None:
    """Exchange the columns of a partition with the columns of the slot `new`, which then has the
    former columns of the partition."""
    slots = table.slots
    for column in range(t.PART_LEADER, t.PART_LEADER + v.PART_FIELDS):
        before = get(slots, slot, column)
        put(slots, slot, column, get(slots, new, column))
        put(slots, new, column, before)
    _stamp(table, rows, row, slot)
    put(slots, slot, v.SINCE_OFFSET, cell(rows, v.ROW_SINCE, row))
    put(slots, slot, v.SINCE_TIME, cell(rows, v.ROW_TIME, row))
    put(slots, slot, v.SINCE_EPOCH, cell(rows, v.ROW_EPOCH, row))
    put(slots, slot, v.SINCE_TYPE, cell(rows, v.ROW_TYPE, row))


@inner
def _partition_row(
    buffers: ReportBuffers, record: Record, rows: Longs, row: int, action: int, topic: int
) -> int:
    """Replay a record of a partition. Returns the STOP code."""
    table = buffers.table
    slots = table.slots
    number = int32_of(record, long(t.FIELD_PARTITION_ID))
    slot = find_pair(table, long(t.PARTITION), topic, number)
    is_there = slot != NONE and get(slots, slot, t.SLOT_LIFE) == get(slots, topic, t.SLOT_LIFE)
    if action == t.DO_CHANGE and not is_there:
        return t.STOP_REFUSED
    if is_there and not _has_arena(
        table, v.ARENA_PER_REPLICA * count_of(slots, get(slots, slot, t.PART_REPLICAS))
    ):
        return v.STOP_SLOTS
    base = slot if action == t.DO_CHANGE else long(NONE)
    if not read_partition(table, record, base):
        return t.STOP_REFUSED
    new = spare_slot(slots)
    is_silent = item(table.state, v.REPORT_SILENT) == 1
    if not is_silent:
        old_size = lists_size(slots, slot) if is_there else long(0)
        if not has_room(slots, table.state, topic, old_size, lists_size(slots, new)):
            return v.STOP_FULL
        if is_there:
            report_version(buffers, slot, row)
    if not is_there:
        slot = slot_of_pair(table, long(t.PARTITION), topic, number)
        _join(slots, topic, slot)
    _write(table, rows, row, new, slot)
    if is_silent:
        return t.STOP_DONE
    if is_there:
        report_changes(buffers, new, slot, row)
    else:
        report_creation(buffers, slot, row, long(v.CREATED))
    return t.STOP_DONE


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
    """Whether the row creates a topic whose id is new, whose name no removed topic had, and whose
    name JSON writes without escapes."""
    if action != t.DO_TOPIC:
        return False
    first, second = topic_id_of(record)
    if find_pair(table, long(t.TOPIC), first, second) != NONE:
        return False
    start, size = text_of(record, long(t.FIELD_NAME))
    hashed = hash_of_bytes(table.state, long(t.NAME), record.source, start, size)
    former = find_bytes(table, long(t.NAME), hashed, record.source, start, size)
    return former == NONE and _is_plain(record.source, start, size)


@inner
def _topic_row(table: Table, record: Record, action: int) -> int:
    """Create or remove a topic. Returns the topic's slot."""
    slots, arena, state = table.slots, table.arena, table.state
    first, second = topic_id_of(record)
    topic = slot_of_pair(table, long(t.TOPIC), first, second)
    put(slots, topic, t.SLOT_LIFE, get(slots, topic, t.SLOT_LIFE) + 1)
    put(slots, topic, v.TOPIC_FIRST, long(t.NOBODY))
    put(slots, topic, t.TOPIC_EXISTS, long(action == t.DO_TOPIC))
    set_item(state, v.REPORT_TOPIC, topic)
    if action == t.DO_TOPIC:
        start, size = text_of(record, long(t.FIELD_NAME))
        arena_end = item(state, t.STATE_ARENA)
        put(slots, topic, v.TOPIC_TEXT, arena_end)
        put(slots, topic, v.TOPIC_NAME_SIZE, size)
        put_uuid(arena, arena_end, record.source, place_of(record, long(t.FIELD_TOPIC_ID)))
        to = copy(arena, arena_end + v.UUID_TEXT_SIZE, record.source, start, size)
        set_item(state, t.STATE_ARENA, to)
    elif get(slots, topic, v.TOPIC_TEXT) >= 0:
        start = get(slots, topic, v.TOPIC_TEXT) + v.UUID_TEXT_SIZE
        size = get(slots, topic, v.TOPIC_NAME_SIZE)
        slot_of_bytes(table, long(t.NAME), arena, start, size)
    return topic


@inner
def _row(buffers: ReportBuffers, record: Record, rows: Longs, row: int) -> int:
    """Replay a row of a known program. Returns the STOP code."""
    table = buffers.table
    slots = table.slots
    size = cell(rows, v.ROW_VALUE_SIZE, row)
    start = cell(rows, v.ROW_VALUE, row)
    used = (item(table.state, t.STATE_SLOTS) + v.SLOTS_OF_ROW) * t.SLOT_COLUMNS
    if used > slots.size or not _has_arena(table, v.ARENA_PER_BYTE * size):
        return v.STOP_SLOTS
    fields, end = start + frames.ENVELOPE_BYTES, start + size
    if not _find_places(record.source, fields, end, record.program, record.places):
        return t.STOP_APPLY
    action = layout(record.program, long(t.LAYOUT_ACTION))
    if t.DO_TOPIC <= action <= t.DO_REMOVE_TOPIC:
        is_silent = item(table.state, v.REPORT_SILENT) == 1
        if not is_silent and not _is_new_topic(table, record, action):
            return t.STOP_APPLY
        topic = _topic_row(table, record, action)
        _stamp(table, rows, row, topic)
        put(slots, topic, v.TOPIC_TIME, cell(rows, v.ROW_TIME, row))
        put(slots, topic, v.TOPIC_EPOCH, cell(rows, v.ROW_EPOCH, row))
        put(slots, topic, v.TOPIC_ROW, row)
        return t.STOP_DONE
    if action != t.DO_PARTITION and action != t.DO_CHANGE:
        return t.STOP_APPLY
    topic = live_topic(table, record)
    if topic == NONE:
        return t.STOP_REFUSED
    return _partition_row(buffers, record, rows, row, action, topic)


def write_versions(
    source: Bytes,
    rows: Longs,
    low: int,
    high: int,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    texts: Bytes,
    numbers: Longs,
    state: Longs,
    places: Longs,
) -> int:
    """Replay the rows low <= row < high. Returns the row at which the kernel stopped;
    state[STATE_STOP] has the reason.

    slots, index, arena: the arrays of PartitionVersions, which makes larger ones after STOP_SLOTS.
    texts, numbers: arrays that get the versions and changes. places: an array of MAX_WIDTH items of
        scratch.
    """
    buffers = ReportBuffers(Table(slots, index, arena, state), texts, numbers)
    stop = long(t.STOP_DONE)
    row = low
    while row < high:
        fetch_ahead(source, rows, row, high, slots, index, state)
        program = cell(rows, v.ROW_PROGRAM, row)
        if program < 0:
            stop = long(t.STOP_APPLY)
            break
        stop = counted(state, _row(buffers, Record(source, places, program), rows, row))
        if stop != t.STOP_DONE:
            break
        row += 1
    set_item(state, t.STATE_STOP, stop)
    return row


def open_versions(
    slots: Longs,
    index: Longs,
    arena: Bytes,
    texts: Bytes,
    numbers: Longs,
    state: Longs,
    first: int,
) -> int:
    """Report the versions that are valid now, as versions that end with row -1. Returns the slot
    whose version found no room, or the number of slots if all versions are reported. first: the
    slot at which to begin."""
    buffers = ReportBuffers(Table(slots, index, arena, state), texts, numbers)
    slot = first
    while slot < item(state, t.STATE_SLOTS):
        if get(slots, slot, t.SLOT_KIND) == t.PARTITION:
            topic = get(slots, slot, t.SLOT_KEY_A)
            if get(slots, slot, t.SLOT_LIFE) == get(slots, topic, t.SLOT_LIFE):
                if not has_room(slots, state, topic, lists_size(slots, slot), long(0)):
                    break
                report_version(buffers, slot, long(-1))
        slot += 1
    return slot
