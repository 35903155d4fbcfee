"""Computes the columns that a partition has after a record, for the kernel of version_rows. These
new values stand in the kernel's scratch until they are written into the slot."""

from __future__ import annotations

from replica.scan import replay_tables as t
from replica.scan import tables
from replica.scan import version_tables as v
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import item, load_i32, long, set_item
from replica.scan.kernels.records import (
    NO_STATE,
    RECOVERED,
    Record,
    int32_of,
    next_epoch,
    place_of,
    recovery_of,
)
from replica.scan.kernels.slots import NONE, Table, get
from replica.scan.kernels.version_lists import count_of, list_at, no_ints, zero_uuids
from replica.scan.native import Longs


@inner
def new_value(places: Longs, column: int) -> int:
    """The new value of a column."""
    return item(places, tables.MAX_WIDTH + column - t.PART_LEADER)


@inner
def set_new_value(places: Longs, column: int, number: int) -> None:
    set_item(places, tables.MAX_WIDTH + column - t.PART_LEADER, number)


@inner
def _read_lists(table: Table, record: Record) -> bool:
    """Set the new lists to those that the record has. False where the directories don't fit the
    replicas."""
    source, places = record.source, record.places
    for column in range(t.PART_REPLICAS, t.PART_LAST_KNOWN_ELR + 1):
        place = place_of(record, column - t.PART_REPLICAS + t.FIELD_REPLICAS)
        if place != ABSENT and column != t.PART_DIRECTORIES:
            set_new_value(places, column, list_at(table, long(v.INTS), source, place))
    count = count_of(table.slots, new_value(places, long(t.PART_REPLICAS)))
    place = place_of(record, long(t.FIELD_DIRECTORIES))
    directories = new_value(places, long(t.PART_DIRECTORIES))
    if place != ABSENT:
        directories = list_at(table, long(v.UUIDS), source, place)
        claimed = count_of(table.slots, directories)
        # Kafka refuses a record whose directories don't fit its replicas. Where a record has no
        # replicas, this rule doesn't hold.
        is_moved = place_of(record, long(t.FIELD_REPLICAS)) != ABSENT
        if is_moved and claimed != 0 and claimed != count:
            return False
    if directories == NONE or get(table.slots, directories, v.LIST_IS_ZERO) == 1:
        directories = zero_uuids(table, count)
    elif count_of(table.slots, directories) != count:
        return False
    set_new_value(places, long(t.PART_DIRECTORIES), directories)
    return True


@inner
def read_partition(table: Table, record: Record, slot: int) -> bool:
    """Compute the new columns of a partition by a record. False where the record can't be
    applied. slot: the slot of the partition; NONE for a new partition."""
    slots, places = table.slots, record.places
    if slot == NONE:
        nothing = no_ints(table)
        for column in range(t.PART_REPLICAS, t.PART_LAST_KNOWN_ELR + 1):
            set_new_value(places, column, nothing)
        set_new_value(places, long(t.PART_DIRECTORIES), long(NONE))
        set_new_value(places, long(t.PART_RECOVERY), long(RECOVERED))
        set_new_value(places, long(t.PART_LEADER), int32_of(record, long(t.FIELD_LEADER)))
        set_new_value(
            places, long(t.PART_LEADER_EPOCH), int32_of(record, long(t.FIELD_LEADER_EPOCH))
        )
        set_new_value(places, long(t.PART_EPOCH), int32_of(record, long(t.FIELD_PARTITION_EPOCH)))
    else:
        for column in range(t.PART_LEADER, t.PART_LEADER + v.PART_FIELDS):
            set_new_value(places, column, get(slots, slot, column))
        set_new_value(places, long(t.PART_EPOCH), next_epoch(get(slots, slot, t.PART_EPOCH)))
        leader = place_of(record, long(t.FIELD_LEADER))
        if leader != ABSENT:
            set_new_value(places, long(t.PART_LEADER), load_i32(record.source, leader))
            epoch = next_epoch(get(slots, slot, t.PART_LEADER_EPOCH))
            set_new_value(places, long(t.PART_LEADER_EPOCH), epoch)
    recovery = recovery_of(record, new_value(places, long(t.PART_RECOVERY)))
    if recovery == NO_STATE:
        return False
    set_new_value(places, long(t.PART_RECOVERY), recovery)
    return _read_lists(table, record)


@inner
def new_lists_size(slots: Longs, places: Longs) -> int:
    """The size in bytes of the JSON of the new lists."""
    size = long(0)
    for column in range(t.PART_REPLICAS, t.PART_LAST_KNOWN_ELR + 1):
        size += get(slots, new_value(places, column), v.LIST_TEXT_SIZE)
    return size
