"""The fields that a row makes of a partition, in the scratch of the kernel of version_rows."""

from __future__ import annotations

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import item, load_i8, load_i32, long, set_item
from replica.scan.kernels.slots import NONE, get
from replica.scan.kernels.version_lists import (
    ints_at,
    ints_in,
    no_ints,
    uuids_at,
    uuids_in,
    zero_uuids,
)
from replica.scan.native import Bytes, Longs
from replica.scan.replay_tables import (
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
)
from replica.scan.tables import MAX_WIDTH
from replica.scan.version_tables import (
    LIST_IS_ZERO,
    LIST_TEXT_SIZE,
    PART_ADDING,
    PART_DIRECTORIES,
    PART_ELR,
    PART_EPOCH,
    PART_FIELDS,
    PART_ISR,
    PART_LAST_KNOWN_ELR,
    PART_LEADER,
    PART_LEADER_EPOCH,
    PART_RECOVERY,
    PART_REMOVING,
    PART_REPLICAS,
)

_INT32_MAX = (1 << 31) - 1
_RECOVERED, _RECOVERING = 0, 1


@inner
def layout(program: int, column: int) -> int:
    number: int = item(LAYOUTS, program * LAYOUT_COLUMNS + column)
    return number


@inner
def place_of(places: Longs, program: int, field: int) -> int:
    """Where the field stands; ABSENT too where the program has none such."""
    step = layout(program, field)
    if step == NO_STEP:
        return ABSENT
    place: int = item(places, step)
    return place


@inner
def _next(epoch: int) -> int:
    return epoch + 1 if epoch != _INT32_MAX else -_INT32_MAX - 1


@inner
def fresh(places: Longs, column: int) -> int:
    """A column of what the row makes of the partition."""
    number: int = item(places, MAX_WIDTH + column - PART_LEADER)
    return number


@inner
def set_fresh(places: Longs, column: int, number: int) -> None:
    set_item(places, MAX_WIDTH + column - PART_LEADER, number)


@inner
def _read_ints(
    source: Bytes,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    places: Longs,
    column: int,
    place: int,
) -> None:
    """Where the record has the list; else it stays."""
    if place != ABSENT:
        found = ints_at(slots, index, arena, state, source, place)
        set_fresh(places, column, found)


@inner
def _read_lists(
    source: Bytes,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    places: Longs,
    program: int,
) -> bool:
    """All lists, the directories too; False where they don't fit the replicas."""
    place = place_of(places, program, long(FIELD_REPLICAS))
    _read_ints(source, slots, index, arena, state, places, long(PART_REPLICAS), place)
    place = place_of(places, program, long(FIELD_ISR))
    _read_ints(source, slots, index, arena, state, places, long(PART_ISR), place)
    place = place_of(places, program, long(FIELD_REMOVING))
    _read_ints(source, slots, index, arena, state, places, long(PART_REMOVING), place)
    place = place_of(places, program, long(FIELD_ADDING))
    _read_ints(source, slots, index, arena, state, places, long(PART_ADDING), place)
    place = place_of(places, program, long(FIELD_ELR))
    _read_ints(source, slots, index, arena, state, places, long(PART_ELR), place)
    place = place_of(places, program, long(FIELD_LAST_KNOWN_ELR))
    _read_ints(source, slots, index, arena, state, places, long(PART_LAST_KNOWN_ELR), place)
    count = ints_in(slots, fresh(places, long(PART_REPLICAS)))
    place = place_of(places, program, long(FIELD_DIRECTORIES))
    directories = fresh(places, long(PART_DIRECTORIES))
    if place != ABSENT:
        directories = uuids_at(slots, index, arena, state, source, place)
        claimed = uuids_in(slots, directories)
        # Only a record with replicas of its own is refused for zero uuids too few or too many.
        is_moved = place_of(places, program, long(FIELD_REPLICAS)) != ABSENT
        if is_moved and claimed != 0 and claimed != count:
            return False
    if directories == NONE or get(slots, directories, LIST_IS_ZERO) == 1:
        directories = zero_uuids(slots, index, arena, state, count)
    elif uuids_in(slots, directories) != count:
        return False
    set_fresh(places, long(PART_DIRECTORIES), directories)
    return True


@inner
def read_partition(
    source: Bytes,
    slots: Longs,
    index: Longs,
    arena: Bytes,
    state: Longs,
    places: Longs,
    program: int,
    slot: int,
) -> bool:
    """What the row makes of the partition in `slot`, NONE for a PARTITION_RECORD; False where the
    record can't be applied."""
    leader = place_of(places, program, long(FIELD_LEADER))
    if slot == NONE:
        nothing = no_ints(slots, index, arena, state)
        for column in range(PART_REPLICAS, PART_LAST_KNOWN_ELR + 1):
            set_fresh(places, column, nothing)
        set_fresh(places, long(PART_DIRECTORIES), long(NONE))
        set_fresh(places, long(PART_RECOVERY), long(_RECOVERED))
        set_fresh(places, long(PART_LEADER), load_i32(source, leader))
        at = place_of(places, program, long(FIELD_LEADER_EPOCH))
        set_fresh(places, long(PART_LEADER_EPOCH), load_i32(source, at))
        at = place_of(places, program, long(FIELD_PARTITION_EPOCH))
        set_fresh(places, long(PART_EPOCH), load_i32(source, at))
    else:
        for column in range(PART_LEADER, PART_LEADER + PART_FIELDS):
            set_fresh(places, column, get(slots, slot, column))
        set_fresh(places, long(PART_EPOCH), _next(get(slots, slot, PART_EPOCH)))
        if leader != ABSENT:
            set_fresh(places, long(PART_LEADER), load_i32(source, leader))
            epoch = _next(get(slots, slot, PART_LEADER_EPOCH))
            set_fresh(places, long(PART_LEADER_EPOCH), epoch)
    recovery = place_of(places, program, long(FIELD_RECOVERY))
    if recovery != ABSENT:
        recovery_state = long(load_i8(source, recovery))
        if recovery_state != _RECOVERED and recovery_state != _RECOVERING:
            return False
        set_fresh(places, long(PART_RECOVERY), recovery_state)
    taken: bool = _read_lists(source, slots, index, arena, state, places, program)
    return taken


@inner
def fresh_size(slots: Longs, places: Longs) -> int:
    size = long(0)
    for column in range(PART_REPLICAS, PART_LAST_KNOWN_ELR + 1):
        size += get(slots, fresh(places, column), LIST_TEXT_SIZE)
    return size
