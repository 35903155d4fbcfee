"""Whose request is worked on next.

One event loop does all of a node's work. However many strangers ask at once, one request of theirs
begins in each round of the loop, so what voters ask each other, and the node's own timers, wait for
one request at most.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Given in the order of asking."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False

    async def next(self) -> None:
        """Returns once it is the caller's turn, which lasts until the caller waits."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._pass_on)
            return
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                # behind the task that this wakes: the loop looks at its sockets in between
                asyncio.get_running_loop().call_soon(self._pass_on)
                return
        self._is_taken = False
