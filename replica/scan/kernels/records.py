"""A record whose fields `locate` has found, as the two replay kernels read it."""

from __future__ import annotations

from typing import NamedTuple

from replica.scan import replay_tables as t
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import item, load_i8, load_i32, load_i64, long, set_item
from replica.scan.kernels.slots import NONE, Table, find_pair, get
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes, Longs

_INT32_MAX = (1 << 31) - 1
RECOVERED, _RECOVERING = 0, 1
"""The numbers of Kafka's LeaderRecoveryState."""
NO_STATE = -1


class Record(NamedTuple):
    """A record, and the places of its fields."""

    source: Bytes
    """An array with the bytes of the record."""
    places: Longs
    """The position of each field, in the order of the program's steps. The items behind them are
    scratch."""
    program: int
    """The number of the record's program in replica.scan.tables."""


@inner
def counted(state: Longs, stop: int) -> int:
    """Count a refused row, if the kernel doesn't stop at refused rows. Returns the STOP code by
    which the kernel continues or stops. stop: the STOP code of the row."""
    if stop != t.STOP_REFUSED or item(state, t.STATE_EXPLAINED) == 0:
        return stop
    set_item(state, t.STATE_REFUSED, item(state, t.STATE_REFUSED) + 1)
    return t.STOP_DONE


@inner
def layout(program: int, column: int) -> int:
    """The number in a column of LAYOUTS for this program. column: a FIELD, LAYOUT_ACTION or
    LAYOUT_KIND."""
    return item(t.LAYOUTS, program * t.LAYOUT_COLUMNS + column)


@inner
def place_of(record: Record, field: int) -> int:
    """The position of a field. ABSENT if the record, or the record's version, lacks the field."""
    step = layout(record.program, field)
    if step == t.NO_STEP:
        return ABSENT
    return item(record.places, step)


@inner
def int32_of(record: Record, field: int) -> int:
    """The value of an int32 field that every version has."""
    return long(load_i32(record.source, place_of(record, field)))


@inner
def topic_id_of(record: Record) -> tuple[int, int]:
    """The two halves of the topic's id."""
    at = place_of(record, long(t.FIELD_TOPIC_ID))
    return load_i64(record.source, at), load_i64(record.source, at + 8)


@inner
def live_topic(table: Table, record: Record) -> int:
    """The slot of the topic whose id the record has. NONE if the topic doesn't exist."""
    first, second = topic_id_of(record)
    slot = find_pair(table, long(t.TOPIC), first, second)
    if slot != NONE and get(table.slots, slot, t.TOPIC_EXISTS) != 1:
        return NONE
    return slot


@inner
def text_of(record: Record, field: int) -> tuple[int, int]:
    """The position of the first byte, and the size in bytes, of a text that every version has."""
    size, start = unsigned_varint(record.source, place_of(record, field), record.source.size)
    return start, size - 1


@inner
def recovery_of(record: Record, otherwise: int) -> int:
    """The leader's recovery state in the record. The result is `otherwise` if the record has no
    recovery state, and NO_STATE if Kafka doesn't know the number of the recovery state."""
    place = place_of(record, long(t.FIELD_RECOVERY))
    if place == ABSENT:
        return otherwise
    state = long(load_i8(record.source, place))
    return state if RECOVERED <= state <= _RECOVERING else NO_STATE


@inner
def next_epoch(epoch: int) -> int:
    """The epoch after `epoch`. The number wraps at 32 bits, as in Java."""
    return epoch + 1 if epoch != _INT32_MAX else -_INT32_MAX - 1
