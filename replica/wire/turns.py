"""Decides which client's request is handled next.

One event loop does all work of a node. Each iteration of the loop begins at most one request of a
client that isn't a voter. After this request the loop begins no other client's request for as long
as this request took. Voters' requests and the node's timers therefore wait for at most one request,
and get half of the time.
"""

from __future__ import annotations

import asyncio
from collections import deque

_SHORT_S = 0.002
"""No pause follows a request that took less than this time (s)."""


class Turns:
    """The addresses take turns. The requests of one address are handled in their order."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._is_taken = False

    async def next(self, address: str) -> None:
        """Wait for the turn of a client at this address. The turn lasts until the client's work
        waits for something."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._rest, loop.time())
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        await turn

    def _rest(self, began: float) -> None:
        """Pause after a turn for as long as the turn took."""
        loop = asyncio.get_running_loop()
        took = loop.time() - began
        if took < _SHORT_S:
            self._pass_on()
        else:
            loop.call_later(took, self._pass_on)

    def _pass_on(self) -> None:
        turn = self._first()
        if turn is None:
            self._is_taken = False
            return
        turn.set_result(None)
        # `_rest` runs after the task that wakes up here; the loop polls its sockets in between
        loop = asyncio.get_running_loop()
        loop.call_soon(self._rest, loop.time())

    def _first(self) -> asyncio.Future[None] | None:
        """The next waiter of the address whose last turn is the oldest; None if nobody waits. The
        address moves to the end of the queue."""
        while self._waiting:
            address, turns = next(iter(self._waiting.items()))
            del self._waiting[address]
            while turns:
                turn = turns.popleft()
                if not turn.done():
                    if turns:
                        self._waiting[address] = turns
                    return turn
        return None
