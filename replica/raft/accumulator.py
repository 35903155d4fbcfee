"""Records that wait to become batches: appends that come within the linger go together.

Time comes in, batches come out; who drains gives them offsets. Kafka: BatchAccumulator,
BatchBuilder. Scenarios J04-J12, J15.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replica.errors import KraftlakeError
from replica.raft.config import FOREVER

BATCH_OVERHEAD = 61
"""Bytes of a batch without records (magic 2)."""

_FIXED_RECORD_BYTES = 4
"""Attributes, a timestamp delta of 0, no key, no headers: a byte each."""


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
        self._prepared_from: int | None = None
        self._linger_end = FOREVER
        self.record_count = 0
        """Of all batches that wait."""

    @property
    def deadline(self) -> int:
        """When `drain` is due, in ms; FOREVER while it would give nothing. A full batch waits for
        the end of the linger too, as Kafka's does."""
        return self._linger_end if self._drainable() else FOREVER

    def append(self, values: Sequence[bytes], now_ms: int, *, prepared: bool = False) -> None:
        """Add records, all to one batch. prepared: they, and all after them, wait for `schedule`.

        The caller has seen to it that they fit into a batch at all. Raises BufferAllocationError.
        """
        starts_batch = not self._fits(values) or (prepared and self._prepared_from is None)
        if starts_batch:
            if len(self._waiting) >= self._max_batches:
                reason = f"{len(self._waiting)} batches wait to be appended, no more may"
                raise BufferAllocationError(reason)
            if prepared and self._prepared_from is None:
                self._prepared_from = len(self._waiting)
            self._waiting.append(_Open(now_ms, [], BATCH_OVERHEAD))
        if self._linger_end == FOREVER:
            self._linger_end = now_ms + self._linger_ms
        newest = self._waiting[-1]
        newest.size += records_size(values, len(newest.values))
        newest.values += values
        self.record_count += len(values)

    def schedule(self) -> None:
        """What was prepared may be drained."""
        self._prepared_from = None

    def drain(self, *, forced: bool = False) -> tuple[Accumulated, ...]:
        """Take the batches out, in order: those that may go, or by force also those prepared."""
        if forced:
            self.schedule()
        count = self._drainable()
        drained, self._waiting = self._waiting[:count], self._waiting[count:]
        if self._prepared_from is not None:
            self._prepared_from = 0
        if not self._waiting:
            self._linger_end = FOREVER
        self.record_count -= sum(len(batch.values) for batch in drained)
        return tuple(Accumulated(batch.timestamp, tuple(batch.values)) for batch in drained)

    def clear(self) -> None:
        """Drop everything: who leads no more appends none of it."""
        self.drain(forced=True)

    def _drainable(self) -> int:
        return len(self._waiting) if self._prepared_from is None else self._prepared_from

    def _fits(self, values: Sequence[bytes]) -> bool:
        if not self._waiting:
            return False
        newest = self._waiting[-1]
        added = records_size(values, len(newest.values))
        return newest.size + added <= self._max_batch_bytes


def batch_size(values: Sequence[bytes]) -> int:
    """Bytes on disk of a batch of these record values, without keys and headers."""
    return BATCH_OVERHEAD + records_size(values, 0)


def records_size(values: Sequence[bytes], first_delta: int) -> int:
    """Bytes of the records; first_delta: offset of the first in its batch."""
    size = 0
    for delta, value in enumerate(values, first_delta):
        body = _FIXED_RECORD_BYTES + _varint_size(delta) + _varint_size(len(value)) + len(value)
        size += _varint_size(body) + body
    return size


def _varint_size(number: int) -> int:
    """Bytes of a number that isn't negative as a zigzag varint."""
    return max(1, ((2 * number).bit_length() + 6) // 7)
