"""Replays records of partitions in the replay kernel, as replica.metadata.image.partition does. The
kernel keeps no lists, only the places in the log where they stand."""

from __future__ import annotations

from replica.scan import replay_tables as t
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import load_i32, load_i64, long
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

_UUID_BYTES = 16


@inner
def _count(source: Bytes, place: int) -> int:
    """The number of elements of an array, which was checked and is not null."""
    size, _ = unsigned_varint(source, place, source.size)
    return size - 1


@inner
def _known_directories(source: Bytes, place: int) -> int:
    """The number of directories in an array, which was checked. 0 where all of them are the zero
    uuid."""
    size, at = unsigned_varint(source, place, source.size)
    bits = long(0)
    for half in range((size - 1) * _UUID_BYTES // 8):
        bits |= load_i64(source, at + 8 * half)
    return size - 1 if bits != 0 else 0


@inner
def _set_lists(slots: Longs, record: Record, base: int, slot: int, is_new: bool) -> None:
    """Set the lists that the record has. Its other lists are empty if the partition is new, and
    stay as they are if not."""
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
    """Apply a PARTITION_RECORD. False where the record can't be applied."""
    slots, source = table.slots, record.source
    replica_count = _count(source, place_of(record, t.FIELD_REPLICAS))
    directories = place_of(record, t.FIELD_DIRECTORIES)
    known = long(0)
    if directories != ABSENT:
        claimed = _count(source, directories)
        if claimed != 0 and claimed != replica_count:
            return False
        known = _known_directories(source, directories)
    recovery = recovery_of(record, long(RECOVERED))
    if recovery == NO_STATE:
        return False
    slot = slot_of_pair(table, t.PARTITION, topic, number)
    put(slots, slot, t.SLOT_LIFE, get(slots, topic, t.SLOT_LIFE))
    put(slots, slot, t.SLOT_CHANGED, 1)
    put(slots, slot, t.SLOT_OFFSET, offset)
    put(slots, slot, t.PART_LEADER, int32_of(record, t.FIELD_LEADER))
    put(slots, slot, t.PART_RECOVERY, recovery)
    put(slots, slot, t.PART_LEADER_EPOCH, int32_of(record, t.FIELD_LEADER_EPOCH))
    put(slots, slot, t.PART_EPOCH, int32_of(record, t.FIELD_PARTITION_EPOCH))
    put(slots, slot, t.PART_REPLICA_COUNT, replica_count)
    put(slots, slot, t.PART_DIRECTORY_COUNT, known)
    _set_lists(slots, record, base, slot, True)
    return True


@inner
def change_partition(slots: Longs, record: Record, base: int, slot: int, offset: int) -> bool:
    """Apply a PARTITION_CHANGE_RECORD. False where the record can't be applied."""
    source = record.source
    replicas = place_of(record, t.FIELD_REPLICAS)
    directories = place_of(record, t.FIELD_DIRECTORIES)
    replica_count = get(slots, slot, t.PART_REPLICA_COUNT)
    known = get(slots, slot, t.PART_DIRECTORY_COUNT)
    if replicas != ABSENT:
        replica_count = _count(source, replicas)
    if directories != ABSENT:
        claimed = _count(source, directories)
        # Kafka refuses a record whose directories don't fit its replicas. Where a record has no
        # replicas, this rule doesn't hold.
        if replicas != ABSENT and claimed != 0 and claimed != replica_count:
            return False
        known = _known_directories(source, directories)
    if known != 0 and known != replica_count:
        return False
    recovery = recovery_of(record, get(slots, slot, t.PART_RECOVERY))
    if recovery == NO_STATE:
        return False
    put(slots, slot, t.PART_RECOVERY, recovery)
    leader = place_of(record, t.FIELD_LEADER)
    if leader != ABSENT:
        put(slots, slot, t.PART_LEADER, load_i32(source, leader))
        put(slots, slot, t.PART_LEADER_EPOCH, next_epoch(get(slots, slot, t.PART_LEADER_EPOCH)))
    put(slots, slot, t.PART_EPOCH, next_epoch(get(slots, slot, t.PART_EPOCH)))
    put(slots, slot, t.PART_REPLICA_COUNT, replica_count)
    put(slots, slot, t.PART_DIRECTORY_COUNT, known)
    _set_lists(slots, record, base, slot, False)
    put(slots, slot, t.SLOT_CHANGED, 1)
    put(slots, slot, t.SLOT_OFFSET, offset)
    return True
