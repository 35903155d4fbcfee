"""Records that wait to be appended: appends within the linger share a batch.

Kafka: BatchAccumulator, BatchBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.errors import KraftlakeError
from replica.format.record import batch_size, records_size
from replica.raft.config import FOREVER


class BufferAllocationError(KraftlakeError):
    """The accumulator is full: `max_batches` batches are waiting. Nothing was appended; try again
    later."""


@dataclass(slots=True)
class Accumulated:
    """The waiting records of one batch."""

    timestamp: int
    """The time (ms) of the first append."""
    values: list[bytes]
    """The records' values, in order."""
    size: int
    """The size of the batch in bytes."""


class BatchAccumulator:
    """The batches that wait to be appended. Further records go into the newest batch as long as
    there is room in that batch.

    linger_ms: how long the first append waits for further appends.
    max_batch_bytes: the size of the largest batch as it is on disk.
    max_batches: the most batches that may wait.
    """

    def __init__(self, linger_ms: int, max_batch_bytes: int, max_batches: int) -> None:
        self._linger_ms = linger_ms
        self._max_batch_bytes = max_batch_bytes
        self._max_batches = max_batches
        self._waiting: list[Accumulated] = []
        self._linger_end = FOREVER
        self.record_count = 0
        """The number of records that wait."""

    @property
    def deadline(self) -> int:
        """The time (ms) at which `drain` is due; FOREVER while no records wait. As in Kafka, even a
        full batch waits for the end of the linger."""
        return self._linger_end

    def append(self, values: Sequence[bytes], now_ms: int) -> None:
        """Add records, all of them to the same batch. The caller has checked that these records fit
        into one batch. Raises BufferAllocationError if the records need another batch while
        `max_batches` wait."""
        newest, added = self._waiting[-1] if self._waiting else None, 0
        if newest is not None:
            added = records_size(values, len(newest.values))
        if newest is None or newest.size + added > self._max_batch_bytes:
            if len(self._waiting) >= self._max_batches:
                waiting = len(self._waiting)
                raise BufferAllocationError(
                    f"{waiting} batches wait to be appended, the most that may: try again later"
                )
            newest = Accumulated(now_ms, [], batch_size(()))
            added = records_size(values, 0)
            self._waiting.append(newest)
        if self._linger_end == FOREVER:
            self._linger_end = now_ms + self._linger_ms
        newest.size += added
        newest.values += values
        self.record_count += len(values)

    def drain(self) -> list[Accumulated]:
        """Take out all batches, and return them in order. A leader gives them their offsets. A
        replica that has stopped leading drops them."""
        drained, self._waiting = self._waiting, []
        self._linger_end = FOREVER
        self.record_count = 0
        return drained
