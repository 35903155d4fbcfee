"""Writes the content of the replay kernel's slots into the tables of a replay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from replica.errors import DataError
from replica.format.content import MovedError
from replica.metadata.codec import decode
from replica.metadata.image.partition import Partition
from replica.metadata.image.replay import Replay
from replica.metadata.image.state import TOPIC_RESOURCE, State
from replica.model.keys import ZERO_UUID
from replica.scan import replay_tables as t
from replica.scan.log_bytes import LogBytes
from replica.scan.native import Longs
from replica.scan.replay_slots import ReplaySlots, Table, topic_ids
from replica.scan.tables import CONFIG_PROGRAM, KERNEL_PROGRAMS

_CONFIG = t.PUT + KERNEL_PROGRAMS[CONFIG_PROGRAM].schema.api_key
_LISTS = range(t.PART_REPLICAS, t.PART_LAST_KNOWN_ELR + 1)


def write_puts(slots: ReplaySlots, log: LogBytes, replay: Replay) -> None:
    """Apply the records in slots of the PUT kinds that are not applied yet, except configs."""
    count = int(slots.state[t.STATE_PUTS])
    if count:
        slots.state[t.STATE_PUTS] = 0
        numbers = slots.puts[:count]
        table = slots.table()
        table[numbers, t.SLOT_CHANGED] = 0
        _apply(table[numbers], log, replay)


def write_changes(slots: ReplaySlots, log: LogBytes, replay: Replay) -> None:
    """Write all changed entities into the tables of `replay`. Afterwards no entity counts as
    changed."""
    write_puts(slots, log, replay)
    table = slots.table()
    numbers = np.flatnonzero(table[:, t.SLOT_CHANGED])
    changed = table[numbers]
    kinds = changed[:, t.SLOT_KIND]
    topics, names = changed[kinds == t.TOPIC], changed[kinds == t.NAME]
    state = replay.state
    _write_topics(topics, table, slots, state)
    _write_names(names, table, slots, state)
    table[numbers[kinds == t.NAME], t.NAME_CONFIGS_GO] = 0
    _write_partitions(numbers[kinds == t.PARTITION], table, log, state)
    _write_configs(changed[kinds == _CONFIG], table, log, replay)
    table[numbers, t.SLOT_CHANGED] = 0


def _apply(puts: Table, log: LogBytes, replay: Replay) -> None:
    """Apply the records of PUT slots in the order of the log, because keys with different bytes may
    mean the same entity."""
    ordered = puts[np.argsort(puts[:, t.PUT_VALUE])]
    columns = ordered[:, [t.SLOT_OFFSET, t.PUT_VALUE, t.PUT_SIZE]].tolist()
    for offset, place, size in columns:
        try:
            refusal = replay.apply(offset, decode(log.at(place, size)))
        except DataError as error:
            raise MovedError from error
        if refusal is not None:  # a PUT can always be applied
            raise MovedError


def _write_topics(topics: Table, table: Table, slots: ReplaySlots, state: State) -> None:
    """Write the topics. A topic that changed was created or removed, so its former partitions no
    longer exist."""
    names = slots.texts(table[topics[:, t.TOPIC_NAME]])
    columns = topics[:, [t.TOPIC_EXISTS, t.SLOT_OFFSET, t.TOPIC_REMOVED_AT]].tolist()
    for topic_id, name, numbers in zip(topic_ids(topics), names, columns, strict=True):
        exists, offset, removed_at = numbers
        for partition_id in state.partition_ids.pop(topic_id, ()):
            state.partitions.drop((topic_id, partition_id))
        if exists:
            state.topics.put(topic_id, name, offset)
        else:
            state.topics.drop(topic_id)
        if removed_at != t.NOWHERE_YET:
            state.removals["topics", topic_id] = removed_at


def _write_names(names: Table, table: Table, slots: ReplaySlots, state: State) -> None:
    """Write the names. A changed name belongs to another topic now, or its topic and its configs
    were removed."""
    ids = topic_ids(table[np.maximum(names[:, t.NAME_OWNER], 0)])
    columns = names[:, [t.NAME_OWNER, t.NAME_REMOVED_AT, t.NAME_CONFIGS_GO]].tolist()
    for name, topic_id, numbers in zip(slots.texts(names), ids, columns, strict=True):
        owner, removed_at, configs_go = numbers
        if owner == t.NOBODY:
            state.topic_ids.pop(name, None)
        else:
            state.topic_ids[name] = topic_id
        if removed_at != t.NOWHERE_YET:
            state.removals["topic_ids", name] = removed_at
        if configs_go == 1:
            for config in state.topic_configs.pop(name, ()):
                state.configs.drop((TOPIC_RESOURCE, name, config))


def _write_configs(configs: Table, table: Table, log: LogBytes, replay: Replay) -> None:
    """Write the configs, except the configs that were removed together with their topic."""
    names = configs[:, t.PUT_NAME]
    lives = table[np.maximum(names, 0), t.SLOT_LIFE]
    _apply(configs[(names == t.NOBODY) | (lives == configs[:, t.SLOT_LIFE])], log, replay)


def _write_partitions(numbers: Longs, table: Table, log: LogBytes, state: State) -> None:
    """Write the partitions of existing topics. All other partitions were removed with their
    topics."""
    topics = table[table[numbers, t.SLOT_KEY_A]]
    lives = topics[:, t.SLOT_LIFE] == table[numbers, t.SLOT_LIFE]
    alive = lives & (topics[:, t.TOPIC_EXISTS] == 1)
    parts = table[numbers[alive]]
    keys = _keys(parts, table)
    old = [state.partitions.values.get(key) for key in keys]
    for key, value, offset in zip(
        keys, _values(parts, old, log), parts[:, t.SLOT_OFFSET].tolist(), strict=True
    ):
        state.partitions.put(key, value, offset)
        state.partition_ids.setdefault(key[0], set()).add(key[1])
    table[numbers, _LISTS.start : _LISTS.stop] = t.KEPT


def _keys(parts: Table, table: Table) -> list[tuple[str, int]]:
    topics, which = np.unique(parts[:, t.SLOT_KEY_A], return_inverse=True)
    ids = topic_ids(table[topics])
    named = (ids[k] for k in which.tolist())
    return list(zip(named, parts[:, t.SLOT_KEY_B].tolist(), strict=True))


def _values(parts: Table, old: list[Partition | None], log: LogBytes) -> Iterator[Partition]:
    """The values of these partitions. If no directory is known, each replica has the zero uuid.
    old: their earlier values, from which the lists marked as KEPT are taken."""
    found: dict[int, list[Any]] = {
        column: _lists(parts, column, old, log) if column in _LISTS else parts[:, column].tolist()
        for column in t.PARTITION_COLUMNS
    }
    for k in np.flatnonzero(parts[:, t.PART_DIRECTORY_COUNT] == 0).tolist():
        found[t.PART_DIRECTORIES][k] = (ZERO_UUID,) * len(found[t.PART_REPLICAS][k])
    return map(Partition._make, zip(*found.values(), strict=True))


def _lists(parts: Table, column: int, old: list[Partition | None], log: LogBytes) -> list[Any]:
    places = parts[:, column]
    read = log.uuid_lists if column == t.PART_DIRECTORIES else log.int_lists
    found: list[Any] = [()] * len(parts)
    there = np.flatnonzero(places >= 0)
    for k, value in zip(there.tolist(), read(places[there]), strict=True):
        found[k] = value
    field = t.PARTITION_COLUMNS.index(column)
    for k in np.flatnonzero(places == t.KEPT).tolist():
        before = old[k]
        assert before is not None, "what is kept is there"
        found[k] = before[field]
    return found
