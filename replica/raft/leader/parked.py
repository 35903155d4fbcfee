"""Fetches that wait at a leader's log end (Kafka: the fetch purgatory)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

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
    """The fetches that wait, in the order of their deadlines.

    A leader may have thousands of observers, and each step of the leader asks which waits are over.
    So it costs the logarithm of their number to add a fetch or to take out an expired one, and the
    next deadline is at hand. `take` alone goes through all fetches.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, ParkedFetch]] = []
        self._parked = 0

    def __iter__(self) -> Iterator[ParkedFetch]:
        return (fetch for _, _, fetch in self._heap)

    @property
    def deadline(self) -> int:
        """The time (ms) at which the first wait ends; FOREVER where nothing waits."""
        return self._heap[0][0] if self._heap else FOREVER

    def park(self, fetch: ParkedFetch) -> None:
        self._parked += 1
        heappush(self._heap, (fetch.deadline, self._parked, fetch))

    def take_expired(self, now_ms: int) -> list[ParkedFetch]:
        """Take out the fetches whose wait is over."""
        expired = []
        while self.deadline <= now_ms:
            expired.append(heappop(self._heap)[2])
        return expired

    def take(self, is_due: Callable[[ParkedFetch], bool]) -> list[ParkedFetch]:
        """Take out the fetches for which `is_due` holds."""
        waiting, self._heap = sorted(self._heap), []  # what is left of a sorted list is a heap
        taken = []
        for entry in waiting:
            if is_due(entry[2]):
                taken.append(entry[2])
            else:
                self._heap.append(entry)
        return taken
