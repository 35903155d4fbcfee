"""The columns that a partition has after a record, in the kernel of version_rows. They stand in a
slot that is not in use until they are exchanged with those of the partition's slot."""

from __future__ import annotations

from replica.scan import replay_tables as t
from replica.scan import version_tables as v
from replica.scan.kernels import partitions
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import long
from replica.scan.kernels.records import Record, place_of
from replica.scan.kernels.slots import NONE, Table, get, put
from replica.scan.kernels.version_lists import count_of, list_at, no_ints, zero_uuids
from replica.scan.native import Longs


@inner
def spare_slot(slots: Longs) -> int:
    """The last slot that there is room for, which no row takes: see SLOTS_OF_ROW."""
    return long(slots.size // t.SLOT_COLUMNS - 1)


@inner
def _read_lists(table: Table, record: Record, slot: int, is_new: bool) -> None:
    """Set the lists that the record has. The others are empty if the partition is new, and stay as
    they are if not."""
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
    """Compute the new columns of a partition by a record, in the spare slot. False where the record
    can't be applied. slot: the slot of the partition; NONE for a new partition."""
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
