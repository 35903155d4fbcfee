"""Applies a record to a partition, for both replay kernels, with the result of
replica.metadata.image.partition. The kernels keep lists in different forms: replay_rows keeps their
places, version_rows the lists themselves."""

from __future__ import annotations

from replica.scan import replay_tables as t
from replica.scan.kernels.compilation import inner
from replica.scan.kernels.locate import ABSENT
from replica.scan.kernels.memory import load_i32, load_i64, long
from replica.scan.kernels.records import (
    NO_STATE,
    RECOVERED,
    Record,
    int32_of,
    next_epoch,
    place_of,
    recovery_of,
)
from replica.scan.kernels.slots import get, put
from replica.scan.kernels.varints import unsigned_varint
from replica.scan.native import Bytes, Longs

NOT_APPLICABLE = -1
_UUID_BYTES = 16


@inner
def _count(source: Bytes, place: int) -> int:
    """The number of elements of an array, which was checked and is not null."""
    size, _ = unsigned_varint(source, place, source.size)
    return size - 1


@inner
def _known_directories(source: Bytes, place: int) -> int:
    """The number of directories in an array, which was checked; 0 if all directories are the zero
    uuid."""
    size, at = unsigned_varint(source, place, source.size)
    bits = long(0)
    for half in range((size - 1) * _UUID_BYTES // 8):
        bits |= load_i64(source, at + 8 * half)
    return size - 1 if bits != 0 else 0


@inner
def counts_after(record: Record, replica_count: int, known: int) -> tuple[int, int]:
    """(the number of replicas, the number of known directories) of a partition after a record.
    replica_count, known: the same two numbers before the record; 0 for a new partition. The first
        result is NOT_APPLICABLE if the record can't be applied.
    """
    source = record.source
    replicas = place_of(record, long(t.FIELD_REPLICAS))
    directories = place_of(record, long(t.FIELD_DIRECTORIES))
    if replicas != ABSENT:
        replica_count = _count(source, replicas)
    if directories != ABSENT:
        claimed = _count(source, directories)
        # Kafka refuses a record whose directories don't fit its replicas. Where a record has no
        # replicas, this rule doesn't hold.
        if replicas != ABSENT and claimed != 0 and claimed != replica_count:
            return long(NOT_APPLICABLE), known
        known = _known_directories(source, directories)
    fits = known == 0 or known == replica_count
    if not fits or recovery_of(record, long(0)) == NO_STATE:
        return long(NOT_APPLICABLE), known
    return replica_count, known


@inner
def register(slots: Longs, record: Record, slot: int) -> None:
    """Set the numbers of a partition to those of an applicable PARTITION_RECORD."""
    put(slots, slot, t.PART_LEADER, int32_of(record, long(t.FIELD_LEADER)))
    put(slots, slot, t.PART_RECOVERY, recovery_of(record, long(RECOVERED)))
    put(slots, slot, t.PART_LEADER_EPOCH, int32_of(record, long(t.FIELD_LEADER_EPOCH)))
    put(slots, slot, t.PART_EPOCH, int32_of(record, long(t.FIELD_PARTITION_EPOCH)))


@inner
def change(slots: Longs, record: Record, slot: int) -> None:
    """Change the numbers of a partition by an applicable PARTITION_CHANGE_RECORD."""
    put(slots, slot, t.PART_RECOVERY, recovery_of(record, get(slots, slot, t.PART_RECOVERY)))
    leader = place_of(record, long(t.FIELD_LEADER))
    if leader != ABSENT:
        put(slots, slot, t.PART_LEADER, load_i32(record.source, leader))
        put(slots, slot, t.PART_LEADER_EPOCH, next_epoch(get(slots, slot, t.PART_LEADER_EPOCH)))
    put(slots, slot, t.PART_EPOCH, next_epoch(get(slots, slot, t.PART_EPOCH)))
