"""The search of a log for a time. It goes in steps, between which other requests are answered."""

from __future__ import annotations

from typing import NamedTuple

from replica.node.serve.partition import ServedPartition
from replica.wire.apis.fetching import Timestamp

STEP_BATCHES, STEP_BYTES = 256, 1024 * 1024
"""How much one step reads, whichever bound comes first; that takes some milliseconds."""


class At(NamedTuple):
    """timestamp: ms since the epoch; offset: the base offset of the batch that has it."""

    timestamp: int
    offset: int


async def by_time(partition: ServedPartition, timestamp: int, address: str) -> At | None:
    """The first committed record at or after `timestamp`, or the newest one for NEWEST_RECORD.

    Batches tell by their largest time, so the offset is that of the batch (a KRaft batch has one
    append time).

    The log is walked up to what is committed when the search begins; another turn of `address` is
    waited for before each further step.
    """
    newest: At | None = None
    position, end = partition.readable.start, partition.readable.end
    while position < end:
        position = max(position, partition.readable.start)  # it may have moved meanwhile
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
