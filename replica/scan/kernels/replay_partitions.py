"""Partitions in the replay kernel, as in replica.metadata.image.partition. Lists are references
into the log."""

from __future__ import annotations

import numpy as np

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import item, load_i32, load_i64, long
from replica.scan.kernels.records import (
    NO_STATE,
    RECOVERED,
    Record,
    int32_of,
    next_epoch,
    place_of,
    recovery_of,
)
from replica.scan.kernels.slots import Table, get, put, slot_of_pair
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes, Longs
from replica.scan.replay_tables import (
    EMPTY,
    FIELD_ADDING,
    FIELD_DIRECTORIES,
    FIELD_ELR,
    FIELD_ISR,
    FIELD_LAST_KNOWN_ELR,
    FIELD_LEADER,
    FIELD_LEADER_EPOCH,
    FIELD_PARTITION_EPOCH,
    FIELD_REMOVING,
    FIELD_REPLICAS,
    PART_ADDING,
    PART_DIRECTORIES,
    PART_DIRECTORY_COUNT,
    PART_ELR,
    PART_EPOCH,
    PART_ISR,
    PART_LAST_KNOWN_ELR,
    PART_LEADER,
    PART_LEADER_EPOCH,
    PART_RECOVERY,
    PART_REMOVING,
    PART_REPLICA_COUNT,
    PART_REPLICAS,
    PARTITION,
    SLOT_CHANGED,
    SLOT_LIFE,
    SLOT_OFFSET,
)

_UUID_BYTES = 16
_COLUMNS_AND_FIELDS = (
    PART_REPLICAS, FIELD_REPLICAS, PART_ISR, FIELD_ISR, PART_REMOVING, FIELD_REMOVING,
    PART_ADDING, FIELD_ADDING, PART_DIRECTORIES, FIELD_DIRECTORIES, PART_ELR, FIELD_ELR,
    PART_LAST_KNOWN_ELR, FIELD_LAST_KNOWN_ELR,
)  # fmt: skip
_LISTS = np.array(_COLUMNS_AND_FIELDS, np.int64)
_LIST_COUNT = len(_COLUMNS_AND_FIELDS) // 2


@inner
def _count(source: Bytes, place: int) -> int:
    """The elements of a checked array that is not null."""
    size, _ = unsigned_varint(source, place, source.size)
    return size - 1


@inner
def _known_directories(source: Bytes, place: int) -> int:
    """How many directories a checked array has; 0 where all of them are zero."""
    size, at = unsigned_varint(source, place, source.size)
    bits = long(0)
    for half in range((size - 1) * _UUID_BYTES // 8):
        bits |= load_i64(source, at + 8 * half)
    return size - 1 if bits != 0 else 0


@inner
def _set_lists(slots: Longs, record: Record, base: int, slot: int, is_new: bool) -> None:
    """Set the lists that the record has. The others are empty in a new partition, and stay as they
    are in another one."""
    for k in range(_LIST_COUNT):
        column, place = item(_LISTS, 2 * k), place_of(record, item(_LISTS, 2 * k + 1))
        if place != ABSENT:
            put(slots, slot, column, base + place)
        elif is_new:
            put(slots, slot, column, EMPTY)


@inner
def register_partition(
    table: Table, record: Record, base: int, topic: int, number: int, offset: int
) -> bool:
    """Enter a partition. False where the record can't be applied."""
    slots, source = table.slots, record.source
    replica_count = _count(source, place_of(record, FIELD_REPLICAS))
    directories = place_of(record, FIELD_DIRECTORIES)
    known = long(0)
    if directories != ABSENT:
        claimed = _count(source, directories)
        if claimed != 0 and claimed != replica_count:
            return False
        known = _known_directories(source, directories)
    recovery = recovery_of(record, long(RECOVERED))
    if recovery == NO_STATE:
        return False
    slot = slot_of_pair(table, PARTITION, topic, number)
    put(slots, slot, SLOT_LIFE, get(slots, topic, SLOT_LIFE))
    put(slots, slot, SLOT_CHANGED, 1)
    put(slots, slot, SLOT_OFFSET, offset)
    put(slots, slot, PART_LEADER, int32_of(record, FIELD_LEADER))
    put(slots, slot, PART_RECOVERY, recovery)
    put(slots, slot, PART_LEADER_EPOCH, int32_of(record, FIELD_LEADER_EPOCH))
    put(slots, slot, PART_EPOCH, int32_of(record, FIELD_PARTITION_EPOCH))
    put(slots, slot, PART_REPLICA_COUNT, replica_count)
    put(slots, slot, PART_DIRECTORY_COUNT, known)
    _set_lists(slots, record, base, slot, True)
    return True


@inner
def change_partition(slots: Longs, record: Record, base: int, slot: int, offset: int) -> bool:
    """Merge a change into a partition. False where the change can't be applied."""
    source = record.source
    replicas = place_of(record, FIELD_REPLICAS)
    directories = place_of(record, FIELD_DIRECTORIES)
    replica_count = get(slots, slot, PART_REPLICA_COUNT)
    known = get(slots, slot, PART_DIRECTORY_COUNT)
    if replicas != ABSENT:
        replica_count = _count(source, replicas)
    if directories != ABSENT:
        claimed = _count(source, directories)
        # A count of directories that differs from that of replicas refuses only a record that has
        # replicas.
        if replicas != ABSENT and claimed != 0 and claimed != replica_count:
            return False
        known = _known_directories(source, directories)
    if known != 0 and known != replica_count:
        return False
    recovery = recovery_of(record, get(slots, slot, PART_RECOVERY))
    if recovery == NO_STATE:
        return False
    put(slots, slot, PART_RECOVERY, recovery)
    leader = place_of(record, FIELD_LEADER)
    if leader != ABSENT:
        put(slots, slot, PART_LEADER, load_i32(source, leader))
        put(slots, slot, PART_LEADER_EPOCH, next_epoch(get(slots, slot, PART_LEADER_EPOCH)))
    put(slots, slot, PART_EPOCH, next_epoch(get(slots, slot, PART_EPOCH)))
    put(slots, slot, PART_REPLICA_COUNT, replica_count)
    put(slots, slot, PART_DIRECTORY_COUNT, known)
    _set_lists(slots, record, base, slot, False)
    put(slots, slot, SLOT_CHANGED, 1)
    put(slots, slot, SLOT_OFFSET, offset)
    return True
