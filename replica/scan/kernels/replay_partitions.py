"""Partitions in the replay kernel, as in replica.metadata.image.partition. Lists are references
into the log."""

from __future__ import annotations

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import item, load_i8, load_i32, load_i64, long
from replica.scan.kernels.slots import get, put, slot_of_pair
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
    FIELD_RECOVERY,
    FIELD_REMOVING,
    FIELD_REPLICAS,
    LAYOUT_COLUMNS,
    LAYOUTS,
    NO_STEP,
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

_INT32_MAX = (1 << 31) - 1
_RECOVERED, _RECOVERING = 0, 1
_UUID_BYTES = 16


@inner
def _place(places: Longs, program: int, field: int) -> int:
    """Where the field stands. ABSENT also where the program has no such field."""
    step = item(LAYOUTS, program * LAYOUT_COLUMNS + field)
    if step == NO_STEP:
        return ABSENT
    place: int = item(places, step)
    return place


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
def _next(epoch: int) -> int:
    return epoch + 1 if epoch != _INT32_MAX else -_INT32_MAX - 1


@inner
def _set_list(base: int, slots: Longs, slot: int, column: int, place: int, otherwise: int) -> None:
    put(slots, slot, column, otherwise if place == ABSENT else base + place)


@inner
def register_partition(
    source: Bytes,
    base: int,
    slots: Longs,
    index: Longs,
    state: Longs,
    places: Longs,
    program: int,
    topic: int,
    number: int,
    offset: int,
) -> bool:
    """Enter a partition. False where the record can't be applied."""
    replicas = _place(places, program, FIELD_REPLICAS)
    replica_count = _count(source, replicas)
    directories = _place(places, program, FIELD_DIRECTORIES)
    known = long(0)
    if directories != ABSENT:
        claimed = _count(source, directories)
        if claimed != 0 and claimed != replica_count:
            return False
        known = _known_directories(source, directories)
    recovery = _place(places, program, FIELD_RECOVERY)
    recovery_state = long(_RECOVERED) if recovery == ABSENT else long(load_i8(source, recovery))
    if recovery_state != _RECOVERED and recovery_state != _RECOVERING:
        return False
    slot = slot_of_pair(slots, index, state, PARTITION, topic, number)
    put(slots, slot, SLOT_LIFE, get(slots, topic, SLOT_LIFE))
    put(slots, slot, SLOT_CHANGED, 1)
    put(slots, slot, SLOT_OFFSET, offset)
    put(slots, slot, PART_LEADER, load_i32(source, _place(places, program, FIELD_LEADER)))
    put(slots, slot, PART_RECOVERY, recovery_state)
    leader_epoch = _place(places, program, FIELD_LEADER_EPOCH)
    put(slots, slot, PART_LEADER_EPOCH, load_i32(source, leader_epoch))
    put(slots, slot, PART_EPOCH, load_i32(source, _place(places, program, FIELD_PARTITION_EPOCH)))
    put(slots, slot, PART_REPLICA_COUNT, replica_count)
    put(slots, slot, PART_DIRECTORY_COUNT, known)
    _set_list(base, slots, slot, PART_REPLICAS, replicas, EMPTY)
    _set_list(base, slots, slot, PART_ISR, _place(places, program, FIELD_ISR), EMPTY)
    _set_list(base, slots, slot, PART_REMOVING, _place(places, program, FIELD_REMOVING), EMPTY)
    _set_list(base, slots, slot, PART_ADDING, _place(places, program, FIELD_ADDING), EMPTY)
    _set_list(base, slots, slot, PART_DIRECTORIES, directories, EMPTY)
    _set_list(base, slots, slot, PART_ELR, _place(places, program, FIELD_ELR), EMPTY)
    last_known = _place(places, program, FIELD_LAST_KNOWN_ELR)
    _set_list(base, slots, slot, PART_LAST_KNOWN_ELR, last_known, EMPTY)
    return True


@inner
def _change_list(
    base: int, slots: Longs, places: Longs, program: int, slot: int, column: int, field: int
) -> None:
    place = _place(places, program, field)
    if place != ABSENT:
        put(slots, slot, column, base + place)


@inner
def change_partition(
    source: Bytes,
    base: int,
    slots: Longs,
    places: Longs,
    program: int,
    slot: int,
    offset: int,
) -> bool:
    """Merge a change into a partition. False where the change can't be applied."""
    replicas = _place(places, program, FIELD_REPLICAS)
    directories = _place(places, program, FIELD_DIRECTORIES)
    recovery = _place(places, program, FIELD_RECOVERY)
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
    if recovery != ABSENT:
        recovery_state = long(load_i8(source, recovery))
        if recovery_state != _RECOVERED and recovery_state != _RECOVERING:
            return False
        put(slots, slot, PART_RECOVERY, recovery_state)
    leader = _place(places, program, FIELD_LEADER)
    if leader != ABSENT:
        put(slots, slot, PART_LEADER, load_i32(source, leader))
        put(slots, slot, PART_LEADER_EPOCH, _next(get(slots, slot, PART_LEADER_EPOCH)))
    put(slots, slot, PART_EPOCH, _next(get(slots, slot, PART_EPOCH)))
    put(slots, slot, PART_REPLICA_COUNT, replica_count)
    put(slots, slot, PART_DIRECTORY_COUNT, known)
    _change_list(base, slots, places, program, slot, PART_REPLICAS, FIELD_REPLICAS)
    _change_list(base, slots, places, program, slot, PART_ISR, FIELD_ISR)
    _change_list(base, slots, places, program, slot, PART_REMOVING, FIELD_REMOVING)
    _change_list(base, slots, places, program, slot, PART_ADDING, FIELD_ADDING)
    _change_list(base, slots, places, program, slot, PART_DIRECTORIES, FIELD_DIRECTORIES)
    _change_list(base, slots, places, program, slot, PART_ELR, FIELD_ELR)
    _change_list(base, slots, places, program, slot, PART_LAST_KNOWN_ELR, FIELD_LAST_KNOWN_ELR)
    put(slots, slot, SLOT_CHANGED, 1)
    put(slots, slot, SLOT_OFFSET, offset)
    return True
