"""The kernel that replays rows, as replica.metadata.image does record by record.

It keeps what decides about refusals: which topics, partitions and brokers there are. Of every
entity it keeps where its newest record stands, so a record that a later one replaces is never
decoded. The kernel stops at each row that it can't take; the scalar replay takes that row. See
replica.scan.bulk_replay.
"""

from __future__ import annotations

from replica.scan.frames import (
    ENVELOPE_BYTES,
    ROW_OFFSET,
    ROW_PROGRAM,
    ROW_VALUE,
    ROW_VALUE_SIZE,
    ROWS,
)
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import item, load_i8, load_i32, load_i64, long, set_item
from replica.scan.kernels.prefetch import fetch_ahead
from replica.scan.kernels.replay_brokers import replay_broker_record
from replica.scan.kernels.replay_partitions import change_partition, register_partition
from replica.scan.kernels.slots import NONE, find_pair, get, put, slot_of_bytes, slot_of_pair
from replica.scan.kernels.straight import place_finder
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes, Longs
from replica.scan.replay_tables import (
    DO_APPLY,
    DO_BARRIER,
    DO_BROKER,
    DO_CHANGE,
    DO_CONFIG,
    DO_NOTHING,
    DO_PARTITION,
    DO_REGISTER,
    DO_REMOVE_TOPIC,
    DO_TOPIC,
    FIELD_KEY_END,
    FIELD_NAME,
    FIELD_PARTITION_ID,
    FIELD_RESOURCE,
    FIELD_TOPIC_ID,
    LAYOUT_ACTION,
    LAYOUT_COLUMNS,
    LAYOUT_KIND,
    LAYOUTS,
    NAME,
    NAME_CONFIGS_GO,
    NAME_OWNER,
    NAME_REMOVED_AT,
    NOBODY,
    PARTITION,
    PUT_NAME,
    PUT_SIZE,
    PUT_VALUE,
    SLOT_CHANGED,
    SLOT_LIFE,
    SLOT_OFFSET,
    STATE_EXPLAINED,
    STATE_PUTS,
    STATE_REFUSED,
    STATE_STOP,
    STOP_APPLY,
    STOP_BARRIER,
    STOP_DONE,
    STOP_REFUSED,
    TOPIC,
    TOPIC_EXISTS,
    TOPIC_NAME,
    TOPIC_REMOVED_AT,
)

_TOPIC_RESOURCE = 2  # ConfigResource.Type.TOPIC, as replica.metadata.image.state has it
_find_places = place_finder()


@inner
def _layout(program: int, column: int) -> int:
    number: int = item(LAYOUTS, program * LAYOUT_COLUMNS + column)
    return number


@inner
def _place(places: Longs, program: int, field: int) -> int:
    """Where a field stands. Every version has the field, and it is always written."""
    place: int = item(places, _layout(program, field))
    return place


@inner
def _mark(slots: Longs, slot: int, offset: int) -> None:
    put(slots, slot, SLOT_CHANGED, 1)
    put(slots, slot, SLOT_OFFSET, offset)


@inner
def _live_topic(source: Bytes, slots: Longs, index: Longs, state: Longs, place: int) -> int:
    """The slot of the topic whose id stands at `place`, NONE if it doesn't exist."""
    halves = load_i64(source, place), load_i64(source, place + 8)
    slot = find_pair(slots, index, state, TOPIC, halves[0], halves[1])
    if slot != NONE and get(slots, slot, TOPIC_EXISTS) != 1:
        return NONE
    return slot


@inner
def _forget_name(slots: Longs, topic: int) -> None:
    """Frees the name, unless it belongs to another topic by now."""
    name = get(slots, topic, TOPIC_NAME)
    if get(slots, name, NAME_OWNER) == topic:
        put(slots, name, NAME_OWNER, NOBODY)
        put(slots, name, SLOT_CHANGED, 1)


@inner
def _create_topic(
    source: Bytes,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    topic_id: int,
    text: int,
    offset: int,
) -> None:
    """text: where the name stands."""
    halves = load_i64(source, topic_id), load_i64(source, topic_id + 8)
    topic = slot_of_pair(slots, index, state, TOPIC, halves[0], halves[1])
    size, start = unsigned_varint(source, text, source.size)
    name = slot_of_bytes(slots, index, arena, state, NAME, source, start, size - 1)
    if get(slots, topic, TOPIC_EXISTS) == 1:
        _forget_name(slots, topic)
    put(slots, topic, SLOT_LIFE, get(slots, topic, SLOT_LIFE) + 1)
    put(slots, topic, TOPIC_EXISTS, 1)
    put(slots, topic, TOPIC_NAME, name)
    _mark(slots, topic, offset)
    put(slots, name, NAME_OWNER, topic)
    put(slots, name, SLOT_CHANGED, 1)


@inner
def _remove_topic(slots: Longs, topic: int, offset: int) -> None:
    name = get(slots, topic, TOPIC_NAME)
    _forget_name(slots, topic)
    put(slots, topic, SLOT_LIFE, get(slots, topic, SLOT_LIFE) + 1)
    put(slots, topic, TOPIC_EXISTS, 0)
    put(slots, topic, TOPIC_REMOVED_AT, offset)
    put(slots, topic, SLOT_CHANGED, 1)
    put(slots, name, SLOT_LIFE, get(slots, name, SLOT_LIFE) + 1)
    put(slots, name, NAME_REMOVED_AT, offset)
    put(slots, name, NAME_CONFIGS_GO, 1)
    put(slots, name, SLOT_CHANGED, 1)


@inner
def _note_put(
    source: Bytes,
    base: int,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    places: Longs,
    program: int,
    position: int,
    size: int,
    offset: int,
) -> int:
    """The slot of the PUT whose value stands at `position`."""
    start = position + ENVELOPE_BYTES
    end = item(places, _layout(program, FIELD_KEY_END))
    kind = _layout(program, LAYOUT_KIND)
    slot: int = slot_of_bytes(slots, index, arena, state, kind, source, start, end - start)
    put(slots, slot, PUT_VALUE, base + position)
    put(slots, slot, PUT_SIZE, size)
    put(slots, slot, SLOT_OFFSET, offset)
    return slot


@inner
def _set_config(
    source: Bytes,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    places: Longs,
    program: int,
    slot: int,
) -> None:
    """Ties the config of a topic to the topic's name: the config goes when the name goes."""
    put(slots, slot, SLOT_CHANGED, 1)
    if load_i8(source, item(places, 0)) == _TOPIC_RESOURCE:
        text = _place(places, program, FIELD_RESOURCE)
        size, start = unsigned_varint(source, text, source.size)
        name = slot_of_bytes(slots, index, arena, state, NAME, source, start, size - 1)
        put(slots, slot, PUT_NAME, name)
        put(slots, slot, SLOT_LIFE, get(slots, name, SLOT_LIFE))


@inner
def _list_put(slots: Longs, puts: Longs, state: Longs, slot: int) -> None:
    if get(slots, slot, SLOT_CHANGED) == 0:
        put(slots, slot, SLOT_CHANGED, 1)
        count = item(state, STATE_PUTS)
        set_item(puts, count, slot)
        set_item(state, STATE_PUTS, count + 1)


@inner
def _replay_topic_record(
    source: Bytes,
    base: int,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    places: Longs,
    program: int,
    action: int,
    offset: int,
) -> int:
    """A STOP code for one of the records that speak of a topic id."""
    topic_id = _place(places, program, FIELD_TOPIC_ID)
    if action == DO_TOPIC:
        text = _place(places, program, FIELD_NAME)
        _create_topic(source, slots, index, arena, state, topic_id, text, offset)
        return STOP_DONE
    topic = _live_topic(source, slots, index, state, topic_id)
    if topic == NONE:
        return STOP_REFUSED
    if action == DO_REMOVE_TOPIC:
        _remove_topic(slots, topic, offset)
        return STOP_DONE
    number = long(load_i32(source, _place(places, program, FIELD_PARTITION_ID)))
    taken = False
    if action == DO_PARTITION:
        taken = register_partition(
            source, base, slots, index, state, places, program, topic, number, offset
        )
    else:
        slot = find_pair(slots, index, state, PARTITION, topic, number)
        if slot != NONE and get(slots, slot, SLOT_LIFE) == get(slots, topic, SLOT_LIFE):
            taken = change_partition(source, base, slots, places, program, slot, offset)
    return STOP_DONE if taken else STOP_REFUSED


@inner
def _replay_row(
    source: Bytes,
    base: int,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    puts: Longs,
    state: Longs,
    places: Longs,
    program: int,
    position: int,
    size: int,
    offset: int,
) -> int:
    """The STOP code of a record of a known program."""
    action = _layout(program, LAYOUT_ACTION)
    start = position + ENVELOPE_BYTES
    if not _find_places(source, start, position + size, program, places):
        return STOP_APPLY if action == DO_APPLY else STOP_BARRIER
    if action == DO_BARRIER:
        return STOP_BARRIER
    if action == DO_APPLY:
        return STOP_APPLY
    if action == DO_NOTHING:
        return STOP_DONE
    if DO_TOPIC <= action <= DO_CHANGE:
        stop: int = _replay_topic_record(
            source, base, slots, index, arena, state, places, program, action, offset
        )
        return stop
    stop = long(STOP_DONE)
    if DO_REGISTER <= action <= DO_BROKER:
        stop = replay_broker_record(
            source, slots, index, state, places, program, position + size, action
        )
        if stop == STOP_REFUSED:
            return stop
    if action <= DO_REGISTER:
        slot = _note_put(
            source, base, slots, index, arena, state, places, program, position, size, offset
        )
        if action == DO_CONFIG:
            _set_config(source, slots, index, arena, state, places, program, slot)
        else:
            _list_put(slots, puts, state, slot)
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
    """Replays the rows low <= row < high; the row at which it stopped, state[STATE_STOP] says why.

    base: the place in the log of the source's first byte. slots, puts: with room for two slots more
    for each row; index: at least twice as large; arena: with room for two keys more for each row,
    and SLACK. places: tables.MAX_WIDTH items of scratch.
    """
    stop = long(STOP_DONE)
    row = low
    while row < high:
        fetch_ahead(source, rows, row, high, slots, index, state)
        program = item(rows, ROW_PROGRAM * ROWS + row)
        if program < 0:
            stop = long(STOP_BARRIER)
            break
        position = item(rows, ROW_VALUE * ROWS + row)
        size = item(rows, ROW_VALUE_SIZE * ROWS + row)
        offset = item(rows, ROW_OFFSET * ROWS + row)
        stop = _replay_row(
            source,
            base,
            slots,
            index,
            arena,
            puts,
            state,
            places,
            program,
            position,
            size,
            offset,
        )
        if stop == STOP_REFUSED:
            if item(state, STATE_EXPLAINED) == 0:
                break
            set_item(state, STATE_REFUSED, item(state, STATE_REFUSED) + 1)
            stop = long(STOP_DONE)
        elif stop != STOP_DONE:
            break
        row += 1
    set_item(state, STATE_STOP, stop)
    return row
