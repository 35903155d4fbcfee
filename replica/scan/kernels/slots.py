"""The hash table of the replay kernels, which finds a slot by a pair of numbers or by bytes.

replica.scan.replay_tables describes the layout. The caller of a kernel has made room for every slot
that its rows can need, so no function here checks for room.
"""

from __future__ import annotations

from typing import NamedTuple

from replica.scan import replay_tables as t
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.memory import byte_at, item, load_raw64, long, set_item
from replica.scan.kernels.text import copy
from replica.scan.native import Bytes, Longs

NONE = -1
_FIRST_FACTOR = 0x2545F4914F6CDD1D
_SECOND_FACTOR = 0x369DEA0F31A53F85


class Table(NamedTuple):
    """The arrays of the hash table. Other modules call the array `lookup` index. Here this array
    has another name, because every tuple has a method `index`."""

    slots: Longs
    lookup: Longs
    arena: Bytes
    state: Longs


@inner
def get(slots: Longs, slot: int, column: int) -> int:
    return item(slots, slot * t.SLOT_COLUMNS + column)


@inner
def put(slots: Longs, slot: int, column: int, number: int) -> None:
    set_item(slots, slot * t.SLOT_COLUMNS + column, number)


@inner
def _mixed(number: int) -> int:
    """The number mixed so that each bit of the result depends on each bit of `number`. Arithmetic
    wraps at 64 bits."""
    number = (number ^ (number >> 32)) * _FIRST_FACTOR
    number = (number ^ (number >> 29)) * _SECOND_FACTOR
    return number ^ (number >> 32)


@inner
def hash_of_pair(state: Longs, kind: int, a: int, b: int) -> int:
    once = _mixed(a ^ item(state, t.STATE_SEED_A)) + kind
    return _mixed(once ^ _mixed(b ^ item(state, t.STATE_SEED_B)))


@inner
def hash_of_bytes(state: Longs, kind: int, source: Bytes, start: int, size: int) -> int:
    mixed = _mixed(size ^ item(state, t.STATE_SEED_A)) + kind
    at = start
    end = start + size
    while at + 8 <= end:
        mixed = _mixed(mixed ^ long(load_raw64(source, at))) + item(state, t.STATE_SEED_B)
        at += 8
    rest = long(0)
    while at < end:
        rest = rest << 8 | byte_at(source, at)
        at += 1
    return _mixed(mixed ^ rest)


@inner
def find_pair(table: Table, kind: int, a: int, b: int) -> int:
    """The slot with this key. NONE if no slot has this key."""
    slots, index = table.slots, table.lookup
    mask = index.size - 1
    place = hash_of_pair(table.state, kind, a, b) & mask
    while True:
        slot = item(index, place) - 1
        if slot < 0:
            return NONE
        same_key = get(slots, slot, t.SLOT_KEY_A) == a and get(slots, slot, t.SLOT_KEY_B) == b
        if same_key and get(slots, slot, t.SLOT_KIND) == kind:
            return slot
        place = (place + 1) & mask


@inner
def slot_of_pair(table: Table, kind: int, a: int, b: int) -> int:
    """The slot with this key. A missing slot is made."""
    slot = find_pair(table, kind, a, b)
    if slot != NONE:
        return slot
    return _new_slot(table, kind, hash_of_pair(table.state, kind, a, b), a, b)


@inner
def find_bytes(table: Table, kind: int, hashed: int, source: Bytes, start: int, size: int) -> int:
    """The slot whose key is these bytes. NONE if no slot has this key. hashed: the hash of the
    bytes, computed by hash_of_bytes."""
    slots, index, arena = table.slots, table.lookup, table.arena
    mask = index.size - 1
    place = hashed & mask
    while True:
        slot = item(index, place) - 1
        if slot < 0:
            return NONE
        same = get(slots, slot, t.SLOT_HASH) == hashed and get(slots, slot, t.SLOT_KIND) == kind
        if same and get(slots, slot, t.SLOT_KEY_B) == size:
            at = get(slots, slot, t.SLOT_KEY_A)
            k = long(0)
            while k < size and byte_at(arena, at + k) == byte_at(source, start + k):
                k += 1
            if k == size:
                return slot
        place = (place + 1) & mask


@inner
def slot_of_bytes(table: Table, kind: int, source: Bytes, start: int, size: int) -> int:
    """The slot whose key is these bytes. A missing slot is made."""
    hashed = hash_of_bytes(table.state, kind, source, start, size)
    slot = find_bytes(table, kind, hashed, source, start, size)
    if slot != NONE:
        return slot
    at = item(table.state, t.STATE_ARENA)
    set_item(table.state, t.STATE_ARENA, copy(table.arena, at, source, start, size))
    return _new_slot(table, kind, hashed, at, size)


@inner
def _new_slot(table: Table, kind: int, hashed: int, a: int, b: int) -> int:
    """Make a slot of this kind. Returns its number. All columns that aren't set here are -1, which
    is the number of KEPT, NOBODY and NOWHERE_YET."""
    slots = table.slots
    slot = item(table.state, t.STATE_SLOTS)
    set_item(table.state, t.STATE_SLOTS, slot + 1)
    for column in range(t.SLOT_COLUMNS):
        put(slots, slot, column, -1)
    put(slots, slot, t.SLOT_KIND, kind)
    put(slots, slot, t.SLOT_HASH, hashed)
    put(slots, slot, t.SLOT_KEY_A, a)
    put(slots, slot, t.SLOT_KEY_B, b)
    put(slots, slot, t.SLOT_CHANGED, 0)
    put(slots, slot, t.SLOT_LIFE, 0)
    enter(table.lookup, slot, hashed)
    return slot


@inner
def enter(index: Longs, slot: int, hashed: int) -> None:
    """Put a slot into the index, which doesn't have it yet."""
    mask = index.size - 1
    place = hashed & mask
    while item(index, place) != 0:
        place = (place + 1) & mask
    set_item(index, place, slot + 1)


def index_slots(slots: Longs, index: Longs, arena: Bytes, state: Longs, with_hashes: int) -> int:
    """Put all slots into the index. Returns the number of slots.

    with_hashes: 0 if the hashes of the slots must be computed, 1 if the slots have their hashes.
    """
    for slot in range(item(state, t.STATE_SLOTS)):
        hashed = get(slots, slot, t.SLOT_HASH)
        if not with_hashes:
            kind = get(slots, slot, t.SLOT_KIND)
            a = get(slots, slot, t.SLOT_KEY_A)
            b = get(slots, slot, t.SLOT_KEY_B)
            hashed = (
                hash_of_bytes(state, kind, arena, a, b)
                if kind == t.NAME or kind >= t.PUT
                else hash_of_pair(state, kind, a, b)
            )
            put(slots, slot, t.SLOT_HASH, hashed)
        enter(index, slot, hashed)
    return item(state, t.STATE_SLOTS)
