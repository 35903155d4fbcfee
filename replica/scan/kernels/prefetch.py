"""Lets the CPU fetch the slots that the replay kernels will need for the next rows.

The records of a log name partitions in no order, and no cache holds the slots of all partitions.
Without this module, a replay would mostly wait for memory. A record leads to the slot of its topic,
and the topic to the slot of its partition. Three steps fetch these slots, each for a nearer row.
The steps only guess: they use the first item of the index, and check only that the bytes that they
read exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from replica.scan import frames
from replica.scan import replay_tables as t
from replica.scan.kernels.compilation import inner, intrinsic
from replica.scan.kernels.memory import item, load_i32, load_i64, long
from replica.scan.kernels.rows import cell
from replica.scan.kernels.slots import hash_of_pair
from replica.scan.native import Bytes, Longs

_FAR, _NEAR = 24, 8
"""How many rows behind the current row is the row of the first step, and how many the row of the
last step."""
_MIDDLE = (_FAR + _NEAR) // 2
"""The number of rows between the current row and the row of the second step."""
_KEY_BYTES = 4 + 16
"""The size of partitionId and topicId, which are the first fields of both records of partitions."""
_LINE = 8
"""The number of int64 in a cache line."""


@intrinsic
def _prefetch(context: Any, array: Any, index: Any) -> Any:
    """Fetch the cache line of an element of an array of int64, without waiting for it."""

    def generate(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = ctx.make_array(signature.args[0])(ctx, builder, arguments[0])
        place = builder.bitcast(
            builder.gep(source.data, [arguments[1]]), ir.IntType(8).as_pointer()
        )
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, flag, flag, flag])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        # Flags: to write, to keep in the cache, data.
        builder.call(fetch, [place, flag(1), flag(3), flag(1)])
        return ctx.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Callable[[Longs, int], None] = _prefetch


@inner
def _partition_key(source: Bytes, rows: Longs, row: int, high: int) -> int:
    """The position of the first field, partitionId, in a record of a partition; topicId follows it.
    -1 for a row without such a record."""
    if row >= high:
        return -1
    program = cell(rows, frames.ROW_PROGRAM, row)
    if program < 0 or cell(rows, frames.ROW_VALUE_SIZE, row) < frames.ENVELOPE_BYTES + _KEY_BYTES:
        return -1
    action = item(t.LAYOUTS, program * t.LAYOUT_COLUMNS + t.LAYOUT_ACTION)
    if action != t.DO_PARTITION and action != t.DO_CHANGE:
        return -1
    return cell(rows, frames.ROW_VALUE, row) + frames.ENVELOPE_BYTES


@inner
def _topic_place(source: Bytes, index: Longs, state: Longs, key: int) -> int:
    """The place in the index that may hold the topic."""
    halves = load_i64(source, key + 4), load_i64(source, key + 12)
    return hash_of_pair(state, t.TOPIC, halves[0], halves[1]) & (index.size - 1)


@inner
def _partition_place(source: Bytes, index: Longs, state: Longs, key: int, topic: int) -> int:
    number = long(load_i32(source, key))
    return hash_of_pair(state, t.PARTITION, topic, number) & (index.size - 1)


@inner
def fetch_ahead(
    source: Bytes, rows: Longs, row: int, high: int, slots: Longs, index: Longs, state: Longs
) -> None:
    """Fetch the slots that the next rows will need. A replay kernel calls this function for each
    row."""
    key = _partition_key(source, rows, row + _FAR, high)
    if key >= 0:
        prefetch(index, _topic_place(source, index, state, key))
    key = _partition_key(source, rows, row + _MIDDLE, high)
    if key >= 0:
        topic = item(index, _topic_place(source, index, state, key)) - 1
        if topic >= 0:
            prefetch(slots, topic * t.SLOT_COLUMNS)
            prefetch(index, _partition_place(source, index, state, key, topic))
    key = _partition_key(source, rows, row + _NEAR, high)
    if key >= 0:
        topic = item(index, _topic_place(source, index, state, key)) - 1
        if topic >= 0:
            slot = item(index, _partition_place(source, index, state, key, topic)) - 1
            if slot >= 0:
                for line in range(0, t.SLOT_COLUMNS, _LINE):
                    prefetch(slots, slot * t.SLOT_COLUMNS + line)
