"""Two versions of a partition as changes, in the kernel of version_rows."""

from __future__ import annotations

import numpy as np

from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import item, long
from replica.scan.kernels.slots import get
from replica.scan.kernels.version_fields import fresh
from replica.scan.kernels.version_lists import (
    has_int,
    int_at,
    ints_in,
)
from replica.scan.kernels.version_texts import (
    tell_lists,
    tell_moves,
    tell_numbers,
)
from replica.scan.native import Bytes, Longs
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
    PART_LAST_KNOWN_ELR, LAST_KNOWN_ELR, PART_DIRECTORIES, DIRECTORIES,
)  # fmt: skip
_LISTS = np.array([len(_COLUMNS_AND_CHANGES) // 2, *_COLUMNS_AND_CHANGES], np.int64)
"""How many lists have changes of their own; the column of each, and its change."""


@inner
def _reassignment(slots: Longs, arena: Bytes, slot: int, adding: int, removing: int) -> int:
    """Which change it is that other replicas than before are added and removed."""
    if ints_in(slots, adding) == 0 and ints_in(slots, removing) == 0:
        return STARTED
    now = get(slots, slot, PART_ADDING), get(slots, slot, PART_REMOVING)
    if ints_in(slots, now[0]) != 0 or ints_in(slots, now[1]) != 0:
        return CHANGED
    replicas = get(slots, slot, PART_REPLICAS)
    for k in range(ints_in(slots, adding)):
        if not has_int(slots, arena, replicas, int_at(slots, arena, adding, k)):
            return CANCELLED
    for k in range(ints_in(slots, removing)):
        if has_int(slots, arena, replicas, int_at(slots, arena, removing, k)):
            return CANCELLED
    return COMPLETED


@inner
def _is_other(slots: Longs, places: Longs, slot: int, column: int) -> bool:
    """Whether the column was another one before; `places` has the columns of before."""
    return fresh(places, column) != get(slots, slot, column)


@inner
def _tell_list(
    slots: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    places: Longs,
    slot: int,
    row: int,
    column: int,
    change: int,
) -> None:
    if _is_other(slots, places, slot, column):
        old, new = fresh(places, column), get(slots, slot, column)
        tell_lists(slots, arena, texts, told, state, slot, row, change, old, new)


@inner
def _tell_number(
    slots: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    places: Longs,
    slot: int,
    row: int,
    column: int,
    change: int,
) -> None:
    if _is_other(slots, places, slot, column):
        old, new = fresh(places, column), get(slots, slot, column)
        tell_numbers(slots, arena, texts, told, state, slot, row, change, old, new)


@inner
def tell_changes(
    slots: Longs,
    arena: Bytes,
    texts: Bytes,
    told: Longs,
    state: Longs,
    places: Longs,
    slot: int,
    row: int,
) -> None:
    """As replica.metadata.changes.partitions: in its order."""
    before = item(state, TOLD_CHANGES)
    with_leader = _is_other(slots, places, slot, long(PART_LEADER))
    column = long(PART_LEADER) if with_leader else long(PART_LEADER_EPOCH)
    change = long(LEADER) if with_leader else long(LEADER_EPOCH)
    _tell_number(slots, arena, texts, told, state, places, slot, row, column, change)
    for k in range(item(_LISTS, 0)):
        column, change = item(_LISTS, 2 * k + 1), item(_LISTS, 2 * k + 2)
        _tell_list(slots, arena, texts, told, state, places, slot, row, column, change)
    column, change = long(PART_RECOVERY), long(RECOVERY)
    _tell_number(slots, arena, texts, told, state, places, slot, row, column, change)
    moves = fresh(places, long(PART_ADDING)), fresh(places, long(PART_REMOVING))
    if moves[0] != get(slots, slot, PART_ADDING) or moves[1] != get(slots, slot, PART_REMOVING):
        change = _reassignment(slots, arena, slot, moves[0], moves[1])
        tell_moves(slots, arena, texts, told, state, slot, row, change, moves[0], moves[1])
    if item(state, TOLD_CHANGES) == before:
        column, change = long(PART_EPOCH), long(EPOCH)
        _tell_number(slots, arena, texts, told, state, places, slot, row, column, change)
