"""Fetches at a leader's log end that wait for records (Kafka: the fetch purgatory)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from replica.raft.config import FOREVER
from replica.raft.messages import FetchRequest


@dataclass(frozen=True, slots=True)
class ParkedFetch:
    """A fetch at the log end that waits for records, or for a newer high watermark, until
    `deadline` (ms)."""

    request_id: Hashable
    request: FetchRequest
    deadline: int


class ParkedFetches:
    """The fetches that wait.

    A leader may have thousands of observers, and each step of the leader asks which waits are over.
    So two heaps order the fetches: by deadline, and by the high watermark that the sender knows.
    Adding or removing a fetch takes logarithmic time, and reading the next deadline constant time.
    All fetches wait at the log end, so all are due with the next record.
    """

    def __init__(self) -> None:
        self._waiting: dict[int, ParkedFetch] = {}
        """The waiting fetches, by the order in which they came. A heap may name fetches that no
        longer wait."""
        self._by_deadline: list[tuple[int, int]] = []
        self._by_watermark: list[tuple[int, int]] = []
        self._parked = 0
        self._log_end = 0

    def __iter__(self) -> Iterator[ParkedFetch]:
        return iter(self._waiting.values())

    @property
    def deadline(self) -> int:
        """The time (ms) at which the first wait ends; FOREVER if no fetch waits."""
        heap = self._by_deadline
        while heap and heap[0][1] not in self._waiting:
            heappop(heap)
        return heap[0][0] if heap else FOREVER

    def park(self, fetch: ParkedFetch) -> None:
        """Add a fetch, whose offset is the log end."""
        self._parked += 1
        self._waiting[self._parked] = fetch
        self._log_end = fetch.request.fetch_offset
        heappush(self._by_deadline, (fetch.deadline, self._parked))
        if fetch.request.high_watermark is not None:
            heappush(self._by_watermark, (fetch.request.high_watermark, self._parked))
        self._by_deadline = self._compacted(self._by_deadline)
        self._by_watermark = self._compacted(self._by_watermark)

    def take_expired(self, now_ms: int) -> list[ParkedFetch]:
        """Take out and return the fetches whose wait is over."""
        expired = []
        while self.deadline <= now_ms:
            expired.append(self._waiting.pop(heappop(self._by_deadline)[1]))
        return expired

    def take_due(self, log_end: int, high_watermark: int | None) -> list[ParkedFetch]:
        """Take out and return the fetches that can be answered, in the order of their deadlines:
        all fetches if the log has grown, else the fetches whose senders know an older high
        watermark. Both offsets are exclusive; an unknown high watermark is None."""
        if log_end > self._log_end:
            return self.take_all()
        due, heap = [], self._by_watermark
        while heap and high_watermark is not None and heap[0][0] < high_watermark:
            number = heappop(heap)[1]
            if number in self._waiting:
                due.append((self._waiting[number].deadline, number))
        return [self._waiting.pop(number) for _, number in sorted(due)]

    def take_all(self) -> list[ParkedFetch]:
        """Take out and return all fetches, in the order of their deadlines."""
        order = sorted((fetch.deadline, number) for number, fetch in self._waiting.items())
        taken = [self._waiting[number] for _, number in order]
        self._waiting, self._by_deadline, self._by_watermark = {}, [], []
        return taken

    def _compacted(self, heap: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The same heap; a heap without the fetches that no longer wait, if these are more than
        half of the heap."""
        if len(heap) <= 2 * len(self._waiting):
            return heap
        kept = [entry for entry in heap if entry[1] in self._waiting]
        heapify(kept)
        return kept
