"""Lets the CPU fetch the slots that the replay kernels will need for the next rows.

A log goes over its partitions in no order, and their slots are far more than a cache holds. Without
this, a replay would mostly wait for memory. Each step looks at a nearer row and one link further
along topic -> partition -> slot. It only guesses: it takes the first item of the index for the
right one, and checks only that the bytes that it reads exist.
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
"""How many rows ahead the first and the last step look. The second step looks half-way."""
_MIDDLE = (_FAR + _NEAR) // 2
_KEY_BYTES = 4 + 16
"""partitionId and topicId, the first fields in both records of partitions."""
_LINE = 8
"""The numbers in a cache line."""


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
    """The positions of partitionId and topicId in a record of a partition. -1 for any other row."""
    if row >= high:
        return -1
    program = cell(rows, frames.ROW_PROGRAM, row)
    if program < 0 or cell(rows, frames.ROW_VALUE_SIZE, row) < frames.ENVELOPE_BYTES + _KEY_BYTES:
        return -1
    action = item(t.LAYOUTS, program * t.LAYOUT_COLUMNS + t.LAYOUT_ACTION)
    if action != t.DO_PARTITION and action != t.DO_CHANGE:
        return -1
    place: int = cell(rows, frames.ROW_VALUE, row) + frames.ENVELOPE_BYTES
    return place


@inner
def _topic_place(source: Bytes, index: Longs, state: Longs, key: int) -> int:
    """The place of the index that may hold the topic."""
    halves = load_i64(source, key + 4), load_i64(source, key + 12)
    place: int = hash_of_pair(state, t.TOPIC, halves[0], halves[1]) & (index.size - 1)
    return place


@inner
def _partition_place(source: Bytes, index: Longs, state: Longs, key: int, topic: int) -> int:
    number = long(load_i32(source, key))
    place: int = hash_of_pair(state, t.PARTITION, topic, number) & (index.size - 1)
    return place


@inner
def fetch_ahead(
    source: Bytes, rows: Longs, row: int, high: int, slots: Longs, index: Longs, state: Longs
) -> None:
    """Fetch what the next rows will need. A replay kernel calls it for each row."""
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
