"""Searches the log for the first record at or after a time. The search goes in steps, and other
requests are answered between the steps."""

from __future__ import annotations

from typing import NamedTuple

from replica.node.serve.partition import ServedPartition
from replica.wire.apis.fetching import Timestamp

STEP_BATCHES, STEP_BYTES = 256, 1024 * 1024
"""The bounds of one step, in batches and in bytes. A step ends at whichever bound it reaches first,
after some milliseconds."""


class At(NamedTuple):
    """timestamp: ms since the epoch. offset: the base offset of the batch with this timestamp."""

    timestamp: int
    offset: int


async def by_time(partition: ServedPartition, timestamp: int, address: str) -> At | None:
    """The first committed record whose time is `timestamp` (ms) or later; for NEWEST_RECORD the
    newest record. None where there is none.

    All records of a KRaft batch have one append time, so a batch is found by its largest timestamp,
    and the offset is the batch's base offset.

    The log is read up to the high watermark as it was at the start of the search. Each further step
    waits for the next turn of the reader at `address` (see Turns).
    """
    newest: At | None = None
    position, end = partition.readable.start, partition.readable.end
    while position < end:
        # The log start may have moved during the wait.
        position = max(position, partition.readable.start)
        count = size = 0
        for batch in partition.log.batches(position, end):
            found = At(batch.timestamp, batch.base_offset)
            if timestamp != Timestamp.NEWEST_RECORD and found.timestamp >= timestamp:
                return found
            if newest is None or found.timestamp > newest.timestamp:
                newest = found
            position, count, size = batch.end_offset, count + 1, size + len(batch.data)
            if count >= STEP_BATCHES or size >= STEP_BYTES:
                break
        if not count:
            break
        if position < end:
            await partition.turn(address)
    return newest if timestamp == Timestamp.NEWEST_RECORD else None
