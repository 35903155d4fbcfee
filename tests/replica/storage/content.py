"""Batches and disks that the tests of storage share."""

from __future__ import annotations

from collections.abc import Sequence

from replica.format.whole_batch import value_batch
from replica.model.batch import Batch
from replica.model.control import ControlRecord, LeaderChange
from replica.model.keys import ReplicaKey
from replica.storage.batches import batches_of, bytes_of

FIRST_TIME = 1_795_231_128_672


def batch(base_offset: int, records: int = 1, epoch: int = 1, size: int = 10) -> Batch:
    """A batch of `records` values of `size` bytes. Its time rises with its offset."""
    timestamp = FIRST_TIME + base_offset
    values = [bytes([(base_offset + n) % 251]) * size for n in range(records)]
    data = value_batch(base_offset, epoch, timestamp, values)
    return Batch(base_offset, base_offset + records - 1, epoch, timestamp, (), data)


def batches(base_offset: int, count: int, epoch: int = 1, size: int = 10) -> list[Batch]:
    """`count` batches of one record."""
    return [batch(base_offset + n, epoch=epoch, size=size) for n in range(count)]


def leader_change(base_offset: int, epoch: int, leader_id: int = 1) -> Batch:
    """The first batch of an epoch, without bytes, as the core makes it."""
    voters = tuple(ReplicaKey(node) for node in (1, 2, 3))
    record: ControlRecord = LeaderChange(leader_id, voters, voters[:2])
    return Batch(base_offset, base_offset, epoch, FIRST_TIME + base_offset, (record,))


def on_disk(written: Sequence[Batch]) -> bytes:
    """The bytes of a log with these batches."""
    return b"".join(bytes_of(each) for each in written)


def offsets(data: bytes) -> list[int]:
    """The base offsets of the batches in `data`."""
    if not data:
        return []
    first = int.from_bytes(data[:8], "big")
    return [each.base_offset for each in batches_of(data, first)]
