"""Has the CPU fetch what the rows ahead will ask the replay kernel's tables for.

A log goes over its partitions without order, and their slots fill much more than a cache: without
this, most of the time of a replay is waiting for memory. Each function looks a step further along
topic -> partition -> slot, at a row that is nearer, and only guesses: it takes the first item of
the index for the right one, and checks nothing but that the bytes that it reads exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from replica.scan.frames import ENVELOPE_BYTES, ROW_PROGRAM, ROW_VALUE, ROW_VALUE_SIZE, ROWS
from replica.scan.kernels.compilation import inner, intrinsic
from replica.scan.kernels.memory import item, load_i32, load_i64, long
from replica.scan.kernels.slots import hash_of_pair
from replica.scan.native import Bytes, Longs
from replica.scan.replay_tables import (
    DO_CHANGE,
    DO_PARTITION,
    LAYOUT_ACTION,
    LAYOUT_COLUMNS,
    LAYOUTS,
    PARTITION,
    SLOT_COLUMNS,
    TOPIC,
)

_FAR, _NEAR = 24, 8
"""How many rows ahead the first step and the last step look. The second step looks half-way."""
_MIDDLE = (_FAR + _NEAR) // 2
_KEY_BYTES = 4 + 16
"""partitionId and topicId, with which both records of partitions begin."""
_LINE = 8
"""Numbers in a cache line."""


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
        builder.call(fetch, [place, flag(1), flag(3), flag(1)])  # to write, to keep, data
        return ctx.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Callable[[Longs, int], None] = _prefetch


@inner
def _partition_key(source: Bytes, rows: Longs, row: int, high: int) -> int:
    """Where partitionId and topicId stand in a record of a partition; -1 in any other row."""
    if row >= high:
        return -1
    program = item(rows, ROW_PROGRAM * ROWS + row)
    if program < 0 or item(rows, ROW_VALUE_SIZE * ROWS + row) < ENVELOPE_BYTES + _KEY_BYTES:
        return -1
    action = item(LAYOUTS, program * LAYOUT_COLUMNS + LAYOUT_ACTION)
    if action != DO_PARTITION and action != DO_CHANGE:
        return -1
    place: int = item(rows, ROW_VALUE * ROWS + row) + ENVELOPE_BYTES
    return place


@inner
def _topic_place(source: Bytes, index: Longs, state: Longs, key: int) -> int:
    """Where the index may have the topic."""
    halves = load_i64(source, key + 4), load_i64(source, key + 12)
    place: int = hash_of_pair(state, TOPIC, halves[0], halves[1]) & (index.size - 1)
    return place


@inner
def _partition_place(source: Bytes, index: Longs, state: Longs, key: int, topic: int) -> int:
    number = long(load_i32(source, key))
    place: int = hash_of_pair(state, PARTITION, topic, number) & (index.size - 1)
    return place


@inner
def fetch_ahead(
    source: Bytes, rows: Longs, row: int, high: int, slots: Longs, index: Longs, state: Longs
) -> None:
    """Fetches what rows ahead will need. The replay kernel calls it with each row."""
    key = _partition_key(source, rows, row + _FAR, high)
    if key >= 0:
        prefetch(index, _topic_place(source, index, state, key))
    key = _partition_key(source, rows, row + _MIDDLE, high)
    if key >= 0:
        topic = item(index, _topic_place(source, index, state, key)) - 1
        if topic >= 0:
            prefetch(slots, topic * SLOT_COLUMNS)
            prefetch(index, _partition_place(source, index, state, key, topic))
    key = _partition_key(source, rows, row + _NEAR, high)
    if key >= 0:
        topic = item(index, _topic_place(source, index, state, key)) - 1
        if topic >= 0:
            slot = item(index, _partition_place(source, index, state, key, topic)) - 1
            if slot >= 0:
                for line in range(0, SLOT_COLUMNS, _LINE):
                    prefetch(slots, slot * SLOT_COLUMNS + line)
