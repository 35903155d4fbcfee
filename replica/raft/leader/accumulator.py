"""Records that wait to become batches: appends that come within the linger go together.

Time comes in, batches come out; who drains gives them offsets. Kafka: BatchAccumulator,
BatchBuilder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.errors import KraftlakeError
from replica.format.batch_size import batch_size, records_size
from replica.raft.config import FOREVER


class BufferAllocationError(KraftlakeError):
    """As many batches wait as may; nothing was appended, try again later."""


@dataclass(frozen=True, slots=True)
class Accumulated:
    """Records for one batch: `values` in order, `timestamp` of the first append in ms."""

    timestamp: int
    values: tuple[bytes, ...]


@dataclass(slots=True)
class _Open:
    timestamp: int
    values: list[bytes]
    size: int


class BatchAccumulator:
    """The batches that wait, the newest open. One thread's: the core's.

    linger_ms: how long the first append waits for more. max_batch_bytes: of a batch on disk,
    uncompressed. max_batches: that may wait, the open one too.
    """

    def __init__(self, linger_ms: int, max_batch_bytes: int, max_batches: int) -> None:
        self._linger_ms = linger_ms
        self._max_batch_bytes = max_batch_bytes
        self._max_batches = max_batches
        self._waiting: list[_Open] = []
        self._linger_end = FOREVER
        self.record_count = 0
        """Of all batches that wait."""

    @property
    def deadline(self) -> int:
        """When `drain` is due, in ms; FOREVER while nothing waits. A full batch waits for the end
        of the linger too, as Kafka's does."""
        return self._linger_end

    def append(self, values: Sequence[bytes], now_ms: int) -> None:
        """Add records, all to one batch. The caller has seen to it that they fit into a batch at
        all. Raises BufferAllocationError."""
        if not self._fits(values):
            if len(self._waiting) >= self._max_batches:
                reason = f"{len(self._waiting)} batches wait to be appended, no more may"
                raise BufferAllocationError(reason)
            self._waiting.append(_Open(now_ms, [], batch_size(())))
        if self._linger_end == FOREVER:
            self._linger_end = now_ms + self._linger_ms
        newest = self._waiting[-1]
        newest.size += records_size(values, len(newest.values))
        newest.values += values
        self.record_count += len(values)

    def drain(self) -> tuple[Accumulated, ...]:
        """Take the batches out, in order."""
        drained, self._waiting = self._waiting, []
        self._linger_end = FOREVER
        self.record_count = 0
        return tuple(Accumulated(batch.timestamp, tuple(batch.values)) for batch in drained)

    def clear(self) -> None:
        """Drop everything: who leads no more appends none of it."""
        self.drain()

    def _fits(self, values: Sequence[bytes]) -> bool:
        if not self._waiting:
            return False
        newest = self._waiting[-1]
        added = records_size(values, len(newest.values))
        return newest.size + added <= self._max_batch_bytes
