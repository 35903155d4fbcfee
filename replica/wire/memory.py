"""The memory for large requests and answers, which all connections of a node share.

A request is charged for the bytes that have arrived, never for the size that the request claims. If
the memory is used up, the oldest arriving request still gets memory, so that each request can
finish. While the memory is used up, a connection that sends nothing for a second is closed. Freed
memory goes to the waiting request that holds the least, so that small requests don't wait for large
requests. An answer is complete when it is charged. If there is no memory for an answer, the
connections whose clients have read nothing for the longest time are closed.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

FREE_BYTES = 16 * 1024
"""The first bytes of each request and answer, which are not charged. Requests between voters are
smaller than this size, so they never wait. max.connections limits the sum of the uncharged
bytes."""
MOVED_BYTES = 16 * 1024
"""The number of bytes after which a request that is received, or an answer that is sent, counts as
moving."""
PATIENCE_S = 1.0
STALLED = "too slow while memory was short"


@dataclass(slots=True, eq=False)
class MemoryShare:
    """The account of one request that is being received, or of one answer that is being sent."""

    address: str
    close: Callable[[str], None]
    """A function that is called with a reason when the connection has to be closed to free memory.
    The function must not wait."""
    is_voters: bool = False
    """Whether the connection is a voter's. Such a connection is never closed to free memory."""
    size: int = 0
    """The number of bytes that are charged."""
    is_over: bool = False
    """Whether the charged bytes were given back."""
    moved_at: float = field(default_factory=time.monotonic)
    """The time (s, monotonic clock) at which the last MOVED_BYTES were complete."""
    _since_moved: int = 0

    def moved(self, size: int) -> None:
        """Note that `size` bytes were received or sent."""
        self._since_moved += size
        if self._since_moved >= MOVED_BYTES:
            self._since_moved, self.moved_at = 0, time.monotonic()


class Memory:
    """Shares memory among addresses.

    most: the most bytes for all addresses together.
    per_address: the most bytes for one address; None for half of `most`.
    """

    def __init__(self, most: int, per_address: int | None = None) -> None:
        self._most = most
        self._per_address = most // 2 if per_address is None else per_address
        self.used = 0
        self._by_address: Counter[str] = Counter()
        self._moving: dict[MemoryShare, None] = {}
        self._waiting: dict[MemoryShare, tuple[int, asyncio.Future[None]]] = {}

    @property
    def left(self) -> int:
        return max(0, self._most - self.used)

    @contextmanager
    def load(self, new: MemoryShare) -> Iterator[MemoryShare]:
        """A context in which a request or an answer is charged. At the end of the context the
        charged bytes are given back."""
        self._moving[new] = None
        try:
            yield new
        finally:
            self._give_back(new)

    def arrived(self, load: MemoryShare) -> None:
        """Note that the whole request has arrived, and needs no further memory."""
        self._moving.pop(load, None)
        self._wake()

    async def grow(self, load: MemoryShare, size: int) -> None:
        """Charge bytes that have arrived. Wait until there is room for these bytes."""
        while not self._has_room(load, size):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting[load] = size, turn
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await turn
            except TimeoutError:
                self._close_stalled(load.address)
            finally:
                self._waiting.pop(load, None)
        self._charge(load, size)
        self._wake()

    def put(self, load: MemoryShare, size: int) -> None:
        """Charge a complete answer. Close other connections until there is room for the answer."""
        self._charge(load, size)
        others = [each for each in self._moving if each is not load and not each.is_voters]
        others.sort(key=lambda each: each.moved_at)
        for each in others:
            if self.used <= self._most:
                return
            self._close(each)

    def _has_room(self, load: MemoryShare, size: int) -> bool:
        if next(iter(self._moving), None) is load:
            return True
        of_address = self._by_address[load.address]
        return self.used + size <= self._most and of_address + size <= self._per_address

    def _charge(self, load: MemoryShare, size: int) -> None:
        if load.is_over:
            return
        load.size += size
        self.used += size
        self._by_address[load.address] += size

    def _close_stalled(self, address: str) -> None:
        """Close the connections that have not moved: all such connections if the whole memory is
        used up, else only the connections of this address, whose share is used up."""
        everybody = self.used + MOVED_BYTES > self._most
        before = time.monotonic() - PATIENCE_S
        for each in tuple(self._moving):
            is_stalled = each.moved_at <= before and each not in self._waiting
            if is_stalled and (everybody or each.address == address):
                self._close(each)

    def _close(self, load: MemoryShare) -> None:
        self._give_back(load)
        load.close(STALLED)

    def _give_back(self, load: MemoryShare) -> None:
        load.is_over = True
        self._moving.pop(load, None)
        self.used -= load.size
        self._by_address[load.address] -= load.size
        if not self._by_address[load.address]:
            del self._by_address[load.address]
        load.size = 0
        self._wake()

    def _wake(self) -> None:
        """Give the next turn to the waiting request that holds the least memory; among equals, to
        the oldest request."""
        for load in sorted(self._waiting, key=lambda each: each.size):
            size, turn = self._waiting[load]
            if not turn.done() and self._has_room(load, size):
                turn.set_result(None)
                return
