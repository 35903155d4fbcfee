"""Which client's request is worked on next.

One event loop does all of a node's work. However many strangers ask at once, one request of theirs
begins in each round of the loop, and the next waits for as long as that one took: so what voters
ask each other, and the node's own timers, wait for one request at most, and have half of the time.
"""

from __future__ import annotations

import asyncio
from collections import deque

_SHORT_S = 0.002
"""A request that takes less time than this delays nobody, so nobody pauses after it."""


class Turns:
    """Turns go to one address after the other, and within an address to its requests in order."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._is_taken = False

    async def next(self, address: str) -> None:
        """Waits for the turn of a client at that address. The turn lasts until the client's work
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
        # behind the task that this wakes: the loop looks at its sockets in between
        loop = asyncio.get_running_loop()
        loop.call_soon(self._rest, loop.time())

    def _first(self) -> asyncio.Future[None] | None:
        """The next waiter of the address whose last turn was longest ago; the address goes to the
        end of the row."""
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
