"""The newest batches of a log, in memory as they were written. Followers, readers and the state
machine mostly read the newest batches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from replica.model.batch import Batch

_BATCH_BYTES = 400
"""The approximate memory (bytes) of a batch's Python objects, without its data."""


class NewestBatches:
    """Batches that follow each other up to the log end, each with its `data`. Their CRCs were
    checked when they were written, so readers don't check the CRCs again.

    max_bytes: the most memory (bytes) of the batches and their Python objects.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._batches: list[Batch] = []
        self._ends: list[int] = []
        self._bytes = 0

    def add(self, batch: Batch) -> None:
        """Keep a batch that was written at the log end. When `max_bytes` is reached, the oldest
        quarter is dropped."""
        self._batches.append(batch)
        self._ends.append(batch.end_offset)
        self._bytes += _size(batch)
        if self._bytes > self._max_bytes:
            count = 0
            while self._bytes > self._max_bytes * 3 // 4 and count < len(self._batches):
                self._bytes -= _size(self._batches[count])
                count += 1
            del self._batches[:count], self._ends[:count]

    def truncate_to(self, end_offset: int) -> None:
        """Forget the batches that hold `end_offset` or a higher offset."""
        kept = bisect_right(self._ends, end_offset)
        self._bytes -= sum(map(_size, self._batches[kept:]))
        del self._batches[kept:], self._ends[kept:]

    def between(self, start_offset: int, end_offset: int) -> Sequence[Batch] | None:
        """The batches from the batch that holds `start_offset` to the last batch that begins below
        `end_offset`; None if the first of these batches isn't kept."""
        first = self._index_of(start_offset)
        if first is None:
            return None
        last = bisect_right(self._ends, end_offset - 1, lo=first)
        return self._batches[first : last + 1]

    def read(self, start_offset: int, max_bytes: int, end_offset: int) -> memoryview | None:
        """The bytes that FileLog.read returns; None if the first batch isn't kept."""
        at = self._index_of(start_offset)
        if at is None:
            return None
        pieces, size = list[bytes](), 0
        for place in range(at, len(self._batches)):
            batch = self._batches[place]
            size += len(batch.data)
            if batch.base_offset >= end_offset or (pieces and size > max_bytes):
                break
            pieces.append(batch.data)
        return memoryview(b"".join(pieces))

    def _index_of(self, offset: int) -> int | None:
        """The index of the batch that holds an offset; None if that batch isn't kept."""
        if not self._batches or offset < self._batches[0].base_offset:
            return None
        index = bisect_right(self._ends, offset)
        return index if index < len(self._ends) else None


def _size(batch: Batch) -> int:
    return len(batch.data) + _BATCH_BYTES
