"""Replays records of brokers in the replay kernel, with the result of
replica.metadata.image.registrations.

The kernel must know which records are refused. So it keeps two facts of each broker: whether the
broker is registered, and its epoch.
"""

from __future__ import annotations

from replica.message.schema import Kind
from replica.scan import replay_tables as t
from replica.scan import tables
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import pass_tags, pass_text
from replica.scan.kernels.memory import load_i64
from replica.scan.kernels.records import Record, int32_of, place_of
from replica.scan.kernels.slots import NONE, Table, find_pair, get, put, slot_of_pair
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes

_PORT_AND_PROTOCOL_BYTES = 4
_END_POINT = {
    tuple((inner.name, inner.kind) for inner in program.steps[step.first : step.end])
    for program in tables.KERNEL_PROGRAMS
    for step in program.steps
    if step.name == "endPoints" and program.schema.name == "REGISTER_BROKER_RECORD"
}
assert {
    (
        ("name", Kind.STRING), ("host", Kind.STRING),
        ("port", Kind.UINT16), ("securityProtocol", Kind.INT16),
    )
} == _END_POINT, "_has_nameless_listener knows what a listener consists of"  # fmt: skip


@inner
def _has_nameless_listener(source: Bytes, position: int, end: int) -> bool:
    """Whether one of the listeners at `position` has an empty name. The caller has checked the
    bytes of the listeners."""
    count, at = unsigned_varint(source, position, end)
    for _ in range(count - 1):
        name_size, _ = unsigned_varint(source, at, end)
        if name_size == 1:  # compact strings: the size is one more than the bytes
            return True
        at = pass_text(source, at, end, False, False)
        at = pass_text(source, at, end, False, False)
        at = pass_tags(source, at + _PORT_AND_PROTOCOL_BYTES, end)
    return False


@inner
def replay_broker_record(table: Table, record: Record, end: int, action: int) -> int:
    """Replay a record of a broker. Returns the STOP code. end: the position after the value of the
    record."""
    slots = table.slots
    broker_id = int32_of(record, t.FIELD_BROKER)
    if action == t.DO_REGISTER:
        if _has_nameless_listener(record.source, place_of(record, t.FIELD_END_POINTS), end):
            return t.STOP_REFUSED
        slot = slot_of_pair(table, t.BROKER, broker_id, 0)
        put(slots, slot, t.BROKER_EXISTS, 1)
        epoch = load_i64(record.source, place_of(record, t.FIELD_BROKER_EPOCH))
        put(slots, slot, t.BROKER_EPOCH, epoch)
        return t.STOP_DONE
    slot = find_pair(table, t.BROKER, broker_id, 0)
    exists = slot != NONE and get(slots, slot, t.BROKER_EXISTS) == 1
    if action == t.DO_UNREGISTER:
        if exists:
            put(slots, slot, t.BROKER_EXISTS, 0)
        return t.STOP_APPLY
    epoch = load_i64(record.source, place_of(record, t.FIELD_BROKER_EPOCH))
    if exists and get(slots, slot, t.BROKER_EPOCH) == epoch:
        return t.STOP_APPLY
    return t.STOP_REFUSED
