"""The kernel that replays rows, with the result of replica.metadata.image.

The kernel must know which records are refused, so it remembers which topics, partitions and brokers
exist. For every other entity it remembers the place of the newest record in the log; a record that
a later record replaces is never decoded. The kernel stops at each row that it can't replay.
replica.scan.bulk_replay gives this row to the scalar replay.
"""

from __future__ import annotations

from replica.scan import frames
from replica.scan import replay_tables as t
from replica.scan.kernels import partitions
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import item, load_i8, long, set_item
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
from replica.scan.kernels.replay_brokers import replay_broker_record
from replica.scan.kernels.rows import cell
from replica.scan.kernels.slots import NONE, Table, find_pair, get, put, slot_of_bytes, slot_of_pair
from replica.scan.kernels.straight import renderer
from replica.scan.native import Bytes, Longs


@inner
def _set(
    slots: Longs, record: Record, base: int, slot: int, counts: tuple[int, int], is_new: bool
) -> None:
    """Set the counts of a partition, and the lists that the record has. The other lists of a new
    partition are set to empty; the other lists of an old partition stay unchanged."""
    put(slots, slot, t.PART_REPLICA_COUNT, counts[0])
    put(slots, slot, t.PART_DIRECTORY_COUNT, counts[1])
    for column in range(t.PART_REPLICAS, t.PART_LAST_KNOWN_ELR + 1):
        place = place_of(record, column - t.PART_REPLICAS + t.FIELD_REPLICAS)
        if place != ABSENT:
            put(slots, slot, column, base + place)
        elif is_new:
            put(slots, slot, column, t.EMPTY)


@inner
def register_partition(
    table: Table, record: Record, base: int, topic: int, number: int, offset: int
) -> bool:
    """Apply a PARTITION_RECORD. Returns False if the record can't be applied."""
    slots = table.slots
    counts = partitions.counts_after(record, long(0), long(0))
    if counts[0] == partitions.NOT_APPLICABLE:
        return False
    slot = slot_of_pair(table, t.PARTITION, topic, number)
    put(slots, slot, t.SLOT_LIFE, get(slots, topic, t.SLOT_LIFE))
    put(slots, slot, t.SLOT_CHANGED, 1)
    put(slots, slot, t.SLOT_OFFSET, offset)
    partitions.register(slots, record, slot)
    _set(slots, record, base, slot, counts, True)
    return True


@inner
def change_partition(slots: Longs, record: Record, base: int, slot: int, offset: int) -> bool:
    """Apply a PARTITION_CHANGE_RECORD. Returns False if the record can't be applied."""
    replicas = get(slots, slot, t.PART_REPLICA_COUNT)
    counts = partitions.counts_after(record, replicas, get(slots, slot, t.PART_DIRECTORY_COUNT))
    if counts[0] == partitions.NOT_APPLICABLE:
        return False
    partitions.change(slots, record, slot)
    _set(slots, record, base, slot, counts, False)
    put(slots, slot, t.SLOT_CHANGED, 1)
    put(slots, slot, t.SLOT_OFFSET, offset)
    return True


_TOPIC_RESOURCE = 2  # ConfigResource.Type.TOPIC, as replica.metadata.image.state has it
_find_places = renderer("places")


@inner
def _mark(slots: Longs, slot: int, offset: int) -> None:
    put(slots, slot, t.SLOT_CHANGED, 1)
    put(slots, slot, t.SLOT_OFFSET, offset)


@inner
def _forget_name(slots: Longs, topic: int) -> None:
    """Free the name of a topic, unless the name now belongs to another topic."""
    name = get(slots, topic, t.TOPIC_NAME)
    if get(slots, name, t.NAME_OWNER) == topic:
        put(slots, name, t.NAME_OWNER, t.NOBODY)
        put(slots, name, t.SLOT_CHANGED, 1)


@inner
def _create_topic(table: Table, record: Record, offset: int) -> None:
    slots = table.slots
    first, second = topic_id_of(record)
    topic = slot_of_pair(table, t.TOPIC, first, second)
    start, size = text_of(record, t.FIELD_NAME)
    name = slot_of_bytes(table, t.NAME, record.source, start, size)
    if get(slots, topic, t.TOPIC_EXISTS) == 1:
        _forget_name(slots, topic)
    put(slots, topic, t.SLOT_LIFE, get(slots, topic, t.SLOT_LIFE) + 1)
    put(slots, topic, t.TOPIC_EXISTS, 1)
    put(slots, topic, t.TOPIC_NAME, name)
    _mark(slots, topic, offset)
    put(slots, name, t.NAME_OWNER, topic)
    put(slots, name, t.SLOT_CHANGED, 1)


@inner
def _remove_topic(slots: Longs, topic: int, offset: int) -> None:
    name = get(slots, topic, t.TOPIC_NAME)
    _forget_name(slots, topic)
    put(slots, topic, t.SLOT_LIFE, get(slots, topic, t.SLOT_LIFE) + 1)
    put(slots, topic, t.TOPIC_EXISTS, 0)
    put(slots, topic, t.TOPIC_REMOVED_AT, offset)
    put(slots, topic, t.SLOT_CHANGED, 1)
    put(slots, name, t.SLOT_LIFE, get(slots, name, t.SLOT_LIFE) + 1)
    put(slots, name, t.NAME_REMOVED_AT, offset)
    put(slots, name, t.NAME_CONFIGS_GO, 1)
    put(slots, name, t.SLOT_CHANGED, 1)


@inner
def _note_put(
    table: Table, record: Record, base: int, position: int, size: int, offset: int
) -> int:
    """Note the place of a PUT in its slot, and return the slot. position: the first byte of the
    record's value."""
    slots = table.slots
    start = position + frames.ENVELOPE_BYTES
    end = item(record.places, layout(record.program, t.FIELD_KEY_END))
    kind = layout(record.program, t.LAYOUT_KIND)
    slot: int = slot_of_bytes(table, kind, record.source, start, end - start)
    put(slots, slot, t.PUT_VALUE, base + position)
    put(slots, slot, t.PUT_SIZE, size)
    put(slots, slot, t.SLOT_OFFSET, offset)
    return slot


@inner
def _set_config(table: Table, record: Record, slot: int) -> None:
    """Note a config. The config of a topic is tied to the slot of the topic's name, because both
    are removed together."""
    slots = table.slots
    put(slots, slot, t.SLOT_CHANGED, 1)
    if load_i8(record.source, item(record.places, 0)) == _TOPIC_RESOURCE:
        start, size = text_of(record, t.FIELD_RESOURCE)
        name = slot_of_bytes(table, t.NAME, record.source, start, size)
        put(slots, slot, t.PUT_NAME, name)
        put(slots, slot, t.SLOT_LIFE, get(slots, name, t.SLOT_LIFE))


@inner
def _list_put(slots: Longs, puts: Longs, state: Longs, slot: int) -> None:
    """Add the slot of a PUT to the list of changed slots, unless the list has the slot already."""
    if get(slots, slot, t.SLOT_CHANGED) == 0:
        put(slots, slot, t.SLOT_CHANGED, 1)
        count = item(state, t.STATE_PUTS)
        set_item(puts, count, slot)
        set_item(state, t.STATE_PUTS, count + 1)


@inner
def _replay_topic_record(table: Table, record: Record, base: int, action: int, offset: int) -> int:
    """Replay a record that names a topic by its id. Returns the STOP code."""
    slots = table.slots
    if action == t.DO_TOPIC:
        _create_topic(table, record, offset)
        return t.STOP_DONE
    topic = live_topic(table, record)
    if topic == NONE:
        return t.STOP_REFUSED
    if action == t.DO_REMOVE_TOPIC:
        _remove_topic(slots, topic, offset)
        return t.STOP_DONE
    number = int32_of(record, t.FIELD_PARTITION_ID)
    taken = False
    if action == t.DO_PARTITION:
        taken = register_partition(table, record, base, topic, number, offset)
    else:
        slot = find_pair(table, t.PARTITION, topic, number)
        if slot != NONE and get(slots, slot, t.SLOT_LIFE) == get(slots, topic, t.SLOT_LIFE):
            taken = change_partition(slots, record, base, slot, offset)
    return t.STOP_DONE if taken else t.STOP_REFUSED


@inner
def _replay_row(
    table: Table, record: Record, base: int, puts: Longs, position: int, size: int, offset: int
) -> int:
    """Replay a record of a known program. Returns the STOP code. position: the first byte of the
    record's value."""
    program = record.program
    action = layout(program, t.LAYOUT_ACTION)
    start, end = position + frames.ENVELOPE_BYTES, position + size
    if not _find_places(record.source, start, end, program, record.places):
        return t.STOP_APPLY if action == t.DO_APPLY else t.STOP_BARRIER
    if action == t.DO_BARRIER:
        return t.STOP_BARRIER
    if action == t.DO_APPLY:
        return t.STOP_APPLY
    if action == t.DO_NOTHING:
        return t.STOP_DONE
    if t.DO_TOPIC <= action <= t.DO_CHANGE:
        return _replay_topic_record(table, record, base, action, offset)
    stop = long(t.STOP_DONE)
    if t.DO_REGISTER <= action <= t.DO_BROKER:
        stop = replay_broker_record(table, record, end, action)
        if stop == t.STOP_REFUSED:
            return stop
    if action <= t.DO_REGISTER:
        slot = _note_put(table, record, base, position, size, offset)
        if action == t.DO_CONFIG:
            _set_config(table, record, slot)
        else:
            _list_put(table.slots, puts, table.state, slot)
    return stop


def replay_rows(
    source: Bytes,
    rows: Longs,
    low: int,
    high: int,
    base: int,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    puts: Longs,
    state: Longs,
    places: Longs,
) -> int:
    """Replay the rows low <= row < high. Returns the row at which the kernel stopped;
    state[STATE_STOP] has the reason.

    base: the place of the source's first byte in the log. slots, puts: arrays with room for two
        more slots for each row. index: an array with at least twice as many items as there are
        slots.
    arena: an array with room for two more keys for each row, and for SLACK bytes more. places: an
        array of tables.MAX_WIDTH items of scratch.
    """
    table = Table(slots, index, arena, state)
    stop = long(t.STOP_DONE)
    row = low
    while row < high:
        fetch_ahead(source, rows, row, high, slots, index, state)
        program = cell(rows, frames.ROW_PROGRAM, row)
        if program < 0:
            stop = long(t.STOP_BARRIER)
            break
        position = cell(rows, frames.ROW_VALUE, row)
        size = cell(rows, frames.ROW_VALUE_SIZE, row)
        offset = cell(rows, frames.ROW_OFFSET, row)
        record = Record(source, places, program)
        stop = counted(state, _replay_row(table, record, base, puts, position, size, offset))
        if stop != t.STOP_DONE:
            break
        row += 1
    set_item(state, t.STATE_STOP, stop)
    return row
