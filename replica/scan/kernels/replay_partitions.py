"""Replays records of partitions in the replay kernel. The kernel keeps no lists, only the places in
the log where they stand, and how many replicas and known directories a partition has."""

from __future__ import annotations

from replica.scan import replay_tables as t
from replica.scan.kernels import partitions
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import long
from replica.scan.kernels.records import Record, place_of
from replica.scan.kernels.slots import Table, get, put, slot_of_pair
from replica.scan.native import Longs


@inner
def _set(
    slots: Longs, record: Record, base: int, slot: int, counts: tuple[int, int], is_new: bool
) -> None:
    """Set the counts, and the lists that the record has. Its other lists are empty if the partition
    is new, and stay as they are if not."""
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
    """Apply a PARTITION_RECORD. False where the record can't be applied."""
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
    """Apply a PARTITION_CHANGE_RECORD. False where the record can't be applied."""
    replicas = get(slots, slot, t.PART_REPLICA_COUNT)
    counts = partitions.counts_after(record, replicas, get(slots, slot, t.PART_DIRECTORY_COUNT))
    if counts[0] == partitions.NOT_APPLICABLE:
        return False
    partitions.change(slots, record, slot)
    _set(slots, record, base, slot, counts, False)
    put(slots, slot, t.SLOT_CHANGED, 1)
    put(slots, slot, t.SLOT_OFFSET, offset)
    return True
