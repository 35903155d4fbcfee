"""Polls a session over connections: in an asyncio loop, or for callers without a loop.

As with Kafka's consumer, only one task or thread at a time may use a consumer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, Self

from replica.consumer import values
from replica.consumer.session import NOTHING, Session
from replica.errors import KraftlakeError


class NodeConnections(Protocol):
    """The connections to the nodes of the partition."""

    def call(self, ask: values.Ask) -> Coroutine[None, None, values.Answer]:
        """Send a request, and return the node's answer. If no answer comes, the result has the
        error NETWORK_EXCEPTION, or is Metadata without a partition.

        Raises KraftlakeError if the same call would fail again, for example because the node
        refuses the login or doesn't know the request.
        """

    async def close(self) -> None:
        """Close all connections. Waiting calls end."""


class AsyncConsumer:
    """A consumer for asyncio. It reads only while it is polled. Between two polls a fetch may wait
    at the node.

    session: the session, which has the position. Its `seek` and `reset` move the position.
    clock: a function that gives a time in ms that never goes back.
    """

    def __init__(
        self,
        session: Session,
        connections: NodeConnections,
        clock: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
    ) -> None:
        self.session = session
        self._connections = connections
        self._clock = clock
        self._asked: tuple[int, asyncio.Task[values.Answer]] | None = None
        self._forgotten: set[asyncio.Task[values.Answer]] = set()

    async def poll(self, timeout_ms: int) -> values.Polled:
        """The next records or reports; an empty Polled if none came within the timeout.

        Raises NoOffsetError and LogTruncationError in every poll until the caller seeks or resets.
        Raises ReadRefusedError, DataError and the errors of NodeConnections.call; after these, the
        next poll tries again.
        """
        deadline = self._clock() + timeout_ms
        while True:
            polled = await self._step(deadline)
            if polled or self._clock() >= deadline:
                return polled

    async def aclose(self) -> None:
        """Close the selector and the connections."""
        self.session.close()
        tasks = set(self._forgotten)
        if self._asked is not None:
            tasks.add(self._asked[1])
            self._asked = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._connections.close()

    async def _step(self, deadline: int) -> values.Polled:
        """Send the session's next request if there is one, and wait for its answer. Without a
        request, wait until there is one."""
        now = self._clock()
        self._ask(now)
        if self._asked is None:
            at = self.session.next_at()
            until = deadline if at is None else min(deadline, at)
            await asyncio.sleep(max(0, until - now) / 1000)
            return NOTHING
        ask_id, task = self._asked
        await asyncio.wait([task], timeout=max(0, deadline - now) / 1000)
        if not task.done():
            return NOTHING
        self._asked = None
        try:
            answer = task.result()
        except KraftlakeError:
            self.session.forget(ask_id, self._clock())
            raise
        return self.session.answer(ask_id, answer, self._clock())

    def _ask(self, now_ms: int) -> None:
        """Send the session's next request, if there is one. If the session has forgotten the
        previous request, that request isn't cancelled, because the connection would be lost."""
        asked = self.session.next_ask(now_ms)
        if asked is None:
            return
        if self._asked is not None:
            self._forgotten.add(self._asked[1])
            self._asked[1].add_done_callback(self._forget)
        ask_id, ask = asked
        self._asked = (ask_id, asyncio.create_task(self._connections.call(ask)))

    def _forget(self, task: asyncio.Task[values.Answer]) -> None:
        self._forgotten.discard(task)
        if not task.cancelled():
            # asyncio logs the error of a task if nobody has read it
            task.exception()


class Consumer:
    """A consumer for callers without an event loop. It has its own loop, which runs only during a
    poll."""

    def __init__(self, session: Session, connections: NodeConnections) -> None:
        self._runner = asyncio.Runner()
        self._consumer = AsyncConsumer(session, connections)
        self._polling: Coroutine[Any, Any, values.Polled] | None = None
        self._is_closed = False

    def poll(self, timeout_ms: int) -> values.Polled:
        """Poll as AsyncConsumer.poll does. Raises KeyboardInterrupt for Ctrl-C."""
        self._polling = self._consumer.poll(timeout_ms)
        try:
            return self._runner.run(self._polling)
        except asyncio.CancelledError:
            # Only Ctrl-C cancels the poll. A Runner loses an interrupt that comes while it starts,
            # and raises only CancelledError.
            raise KeyboardInterrupt from None

    def close(self) -> None:
        """Close the selector, the connections and the loop. A second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._runner.run(self._consumer.aclose())
        self._runner.close()
        if self._polling is not None:
            self._polling.close()  # Python warns about a coroutine that was never started

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
