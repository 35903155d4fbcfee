"""The changes between two versions of a partition, in the kernel of version_rows."""

from __future__ import annotations

import numpy as np

from replica.scan import replay_tables as t
from replica.scan import version_tables as v
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import item, long
from replica.scan.kernels.slots import Table, get
from replica.scan.kernels.version_lists import count_of, has_int, int_at
from replica.scan.kernels.version_texts import ReportBuffers, report_moves, report_part

_COLUMNS_AND_CHANGES = (
    t.PART_REPLICAS, v.REPLICAS, t.PART_ISR, v.ISR, t.PART_ELR, v.ELR,
    t.PART_LAST_KNOWN_ELR, v.LAST_KNOWN_ELR, t.PART_DIRECTORIES, v.DIRECTORIES,
    t.PART_RECOVERY, v.RECOVERY,
)  # fmt: skip
_COLUMNS = np.array(_COLUMNS_AND_CHANGES, np.int64)
_COLUMN_COUNT = len(_COLUMNS_AND_CHANGES) // 2


@inner
def _reassignment(table: Table, slot: int, adding: int, removing: int) -> int:
    """The type of a change of a reassignment. adding, removing: the slots of the lists of adding
    and removing replicas before the change."""
    slots, arena = table.slots, table.arena
    if count_of(slots, adding) == 0 and count_of(slots, removing) == 0:
        return v.STARTED
    now = get(slots, slot, t.PART_ADDING), get(slots, slot, t.PART_REMOVING)
    if count_of(slots, now[0]) != 0 or count_of(slots, now[1]) != 0:
        return v.CHANGED
    replicas = get(slots, slot, t.PART_REPLICAS)
    for k in range(count_of(slots, adding)):
        if not has_int(slots, arena, replicas, int_at(slots, arena, adding, k)):
            return v.CANCELLED
    for k in range(count_of(slots, removing)):
        if has_int(slots, arena, replicas, int_at(slots, arena, removing, k)):
            return v.CANCELLED
    return v.COMPLETED


@inner
def _report_column(
    buffers: ReportBuffers, former: int, slot: int, row: int, column: int, change: int
) -> None:
    """Report the change of a column, if the column has changed."""
    slots = buffers.table.slots
    old, new = get(slots, former, column), get(slots, slot, column)
    if old != new:
        report_part(buffers, slot, row, change, column, old, new)


@inner
def report_changes(buffers: ReportBuffers, former: int, slot: int, row: int) -> None:
    """Report the changes of a partition in the order of replica.metadata.changes.partitions.
    former: a slot with the former values of the partition's columns.
    """
    slots, state = buffers.table.slots, buffers.table.state
    before = item(state, v.REPORT_CHANGES)
    with_leader = get(slots, former, t.PART_LEADER) != get(slots, slot, t.PART_LEADER)
    column = long(t.PART_LEADER) if with_leader else long(t.PART_LEADER_EPOCH)
    change = long(v.LEADER) if with_leader else long(v.LEADER_EPOCH)
    _report_column(buffers, former, slot, row, column, change)
    for k in range(_COLUMN_COUNT):
        _report_column(buffers, former, slot, row, item(_COLUMNS, 2 * k), item(_COLUMNS, 2 * k + 1))
    moves = get(slots, former, t.PART_ADDING), get(slots, former, t.PART_REMOVING)
    if moves[0] != get(slots, slot, t.PART_ADDING) or moves[1] != get(slots, slot, t.PART_REMOVING):
        change = _reassignment(buffers.table, slot, moves[0], moves[1])
        report_moves(buffers, slot, row, change, moves[0], moves[1])
    if item(state, v.REPORT_CHANGES) == before:
        _report_column(buffers, former, slot, row, long(t.PART_EPOCH), long(v.EPOCH))
