"""Keeps the lists of partitions for the kernel of version_rows. Equal lists share one slot, which
also has the JSON of the list."""

from __future__ import annotations

from replica.scan import replay_tables as t
from replica.scan import version_tables as v
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.json_values import put_list
from replica.scan.kernels.memory import byte_at, item, load_i32, long, set_item, store_8
from replica.scan.kernels.slots import Table, get, put, slot_of_bytes
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes, Longs

_INT_BYTES, _UUID_BYTES = 4, 16


@inner
def _element_bytes(kind: int) -> int:
    return long(_INT_BYTES) if kind == v.INTS else long(_UUID_BYTES)


@inner
def _list_of(table: Table, kind: int, source: Bytes, start: int, size: int) -> int:
    """The slot of the list whose elements are `size` bytes from `start` on. A missing slot is
    made."""
    slots, arena, state = table.slots, table.arena, table.state
    slot: int = slot_of_bytes(table, kind, source, start, size)
    if get(slots, slot, v.LIST_TEXT) >= 0:
        return slot
    own = get(slots, slot, t.SLOT_KEY_A)
    is_zero = long(1)
    for k in range(size):
        if byte_at(arena, own + k) != 0:
            is_zero = long(0)
    at = item(state, t.STATE_ARENA)
    to = put_list(arena, own, size // _element_bytes(kind), kind == v.UUIDS, arena, at)
    set_item(state, t.STATE_ARENA, to)
    put(slots, slot, v.LIST_TEXT, at)
    put(slots, slot, v.LIST_TEXT_SIZE, to - at)
    put(slots, slot, v.LIST_IS_ZERO, is_zero)
    return slot


@inner
def list_at(table: Table, kind: int, source: Bytes, place: int) -> int:
    """The slot of the list in a compact array, which the caller has checked. kind: INTS or
    UUIDS."""
    size, start = unsigned_varint(source, place, source.size)
    return _list_of(table, kind, source, start, (size - 1) * _element_bytes(kind))


@inner
def no_ints(table: Table) -> int:
    """The slot of the empty list of int32."""
    return _list_of(table, long(v.INTS), table.arena, long(0), long(0))


@inner
def zero_uuids(table: Table, count: int) -> int:
    """The slot of a list of `count` zero uuids."""
    at = item(table.state, t.STATE_ARENA)
    for k in range(count * _UUID_BYTES):
        store_8(table.arena, at + k, long(0))
    return _list_of(table, long(v.UUIDS), table.arena, at, count * _UUID_BYTES)


@inner
def count_of(slots: Longs, slot: int) -> int:
    """How many elements a list has."""
    return get(slots, slot, t.SLOT_KEY_B) // _element_bytes(get(slots, slot, t.SLOT_KIND))


@inner
def has_int(slots: Longs, arena: Bytes, slot: int, number: int) -> bool:
    """Whether a list of int32 holds the number."""
    start = get(slots, slot, t.SLOT_KEY_A)
    for k in range(count_of(slots, slot)):
        if load_i32(arena, start + _INT_BYTES * k) == number:
            return True
    return False


@inner
def int_at(slots: Longs, arena: Bytes, slot: int, k: int) -> int:
    """The k-th element of a list of int32."""
    return long(load_i32(arena, get(slots, slot, t.SLOT_KEY_A) + _INT_BYTES * k))
