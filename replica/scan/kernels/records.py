"""A record whose fields `locate` has found, as the two replay kernels read it."""

from __future__ import annotations

from typing import NamedTuple

from replica.scan import replay_tables as t
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import item, load_i8, load_i32, load_i64, long
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes, Longs

_INT32_MAX = (1 << 31) - 1
RECOVERED, _RECOVERING = 0, 1
"""Kafka's LeaderRecoveryState."""
NO_STATE = -1


class Record(NamedTuple):
    """source: holds the record's bytes. places: where its fields stand, in the order of its
    program's steps; scratch behind them. program: its number in replica.scan.tables."""

    source: Bytes
    places: Longs
    program: int


@inner
def layout(program: int, column: int) -> int:
    number: int = item(t.LAYOUTS, program * t.LAYOUT_COLUMNS + column)
    return number


@inner
def place_of(record: Record, field: int) -> int:
    """The position of a field. ABSENT also where the record's version lacks the field."""
    step = layout(record.program, field)
    if step == t.NO_STEP:
        return ABSENT
    place: int = item(record.places, step)
    return place


@inner
def int32_of(record: Record, field: int) -> int:
    """An int32 that every version has."""
    return long(load_i32(record.source, place_of(record, field)))


@inner
def topic_id_of(record: Record) -> tuple[int, int]:
    """The two halves of the topic's id."""
    at = place_of(record, long(t.FIELD_TOPIC_ID))
    return load_i64(record.source, at), load_i64(record.source, at + 8)


@inner
def text_of(record: Record, field: int) -> tuple[int, int]:
    """(first byte, size in bytes) of a text that every version has."""
    size, start = unsigned_varint(record.source, place_of(record, field), record.source.size)
    return start, size - 1


@inner
def recovery_of(record: Record, otherwise: int) -> int:
    """The leader's recovery state. `otherwise` where the record has none, NO_STATE where it has a
    number that Kafka doesn't know."""
    place = place_of(record, long(t.FIELD_RECOVERY))
    if place == ABSENT:
        return otherwise
    state = long(load_i8(record.source, place))
    return state if RECOVERED <= state <= _RECOVERING else NO_STATE


@inner
def next_epoch(epoch: int) -> int:
    """The epoch after this one. It wraps at 32 bits, as in Java."""
    return epoch + 1 if epoch != _INT32_MAX else -_INT32_MAX - 1
