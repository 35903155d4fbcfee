"""The changes between two versions of a partition, in the kernel of version_rows."""

from __future__ import annotations

import numpy as np

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import item, long
from replica.scan.kernels.slots import Table, get
from replica.scan.kernels.version_fields import fresh
from replica.scan.kernels.version_lists import count_of, has_int, int_at
from replica.scan.kernels.version_texts import Book, tell_moves, tell_part
from replica.scan.native import Longs
from replica.scan.version_tables import (
    CANCELLED,
    CHANGED,
    COMPLETED,
    DIRECTORIES,
    ELR,
    EPOCH,
    ISR,
    LAST_KNOWN_ELR,
    LEADER,
    LEADER_EPOCH,
    PART_ADDING,
    PART_DIRECTORIES,
    PART_ELR,
    PART_EPOCH,
    PART_ISR,
    PART_LAST_KNOWN_ELR,
    PART_LEADER,
    PART_LEADER_EPOCH,
    PART_RECOVERY,
    PART_REMOVING,
    PART_REPLICAS,
    RECOVERY,
    REPLICAS,
    STARTED,
    TOLD_CHANGES,
)

_COLUMNS_AND_CHANGES = (
    PART_REPLICAS, REPLICAS, PART_ISR, ISR, PART_ELR, ELR,
    PART_LAST_KNOWN_ELR, LAST_KNOWN_ELR, PART_DIRECTORIES, DIRECTORIES, PART_RECOVERY, RECOVERY,
)  # fmt: skip
_COLUMNS = np.array(_COLUMNS_AND_CHANGES, np.int64)
_COLUMN_COUNT = len(_COLUMNS_AND_CHANGES) // 2


@inner
def _reassignment(table: Table, slot: int, adding: int, removing: int) -> int:
    """Which change of a reassignment it is. adding, removing: the slots of the lists before."""
    slots, arena = table.slots, table.arena
    if count_of(slots, adding) == 0 and count_of(slots, removing) == 0:
        return STARTED
    now = get(slots, slot, PART_ADDING), get(slots, slot, PART_REMOVING)
    if count_of(slots, now[0]) != 0 or count_of(slots, now[1]) != 0:
        return CHANGED
    replicas = get(slots, slot, PART_REPLICAS)
    for k in range(count_of(slots, adding)):
        if not has_int(slots, arena, replicas, int_at(slots, arena, adding, k)):
            return CANCELLED
    for k in range(count_of(slots, removing)):
        if has_int(slots, arena, replicas, int_at(slots, arena, removing, k)):
            return CANCELLED
    return COMPLETED


@inner
def _is_other(slots: Longs, places: Longs, slot: int, column: int) -> bool:
    """Whether the column differs from the one before, which `places` holds."""
    return fresh(places, column) != get(slots, slot, column)


@inner
def _tell_column(book: Book, places: Longs, slot: int, row: int, column: int, change: int) -> None:
    """Tell the change of a column, if it has changed."""
    old, new = fresh(places, column), get(book.table.slots, slot, column)
    if old != new:
        tell_part(book, slot, row, change, column, old, new)


@inner
def tell_changes(book: Book, places: Longs, slot: int, row: int) -> None:
    """Tell a partition's changes in the order of replica.metadata.changes.partitions. places: holds
    its columns before."""
    slots, state = book.table.slots, book.table.state
    before = item(state, TOLD_CHANGES)
    with_leader = _is_other(slots, places, slot, long(PART_LEADER))
    column = long(PART_LEADER) if with_leader else long(PART_LEADER_EPOCH)
    change = long(LEADER) if with_leader else long(LEADER_EPOCH)
    _tell_column(book, places, slot, row, column, change)
    for k in range(_COLUMN_COUNT):
        _tell_column(book, places, slot, row, item(_COLUMNS, 2 * k), item(_COLUMNS, 2 * k + 1))
    moves = fresh(places, long(PART_ADDING)), fresh(places, long(PART_REMOVING))
    if moves[0] != get(slots, slot, PART_ADDING) or moves[1] != get(slots, slot, PART_REMOVING):
        change = _reassignment(book.table, slot, moves[0], moves[1])
        tell_moves(book, slot, row, change, moves[0], moves[1])
    if item(state, TOLD_CHANGES) == before:
        _tell_column(book, places, slot, row, long(PART_EPOCH), long(EPOCH))
