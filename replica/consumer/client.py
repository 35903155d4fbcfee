"""The session over connections: a consumer for asyncio, and one for callers without a loop.

Neither may be used by several threads or tasks at once; Kafka's consumer may not either.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Protocol, Self

from replica.consumer import values
from replica.consumer.session import NOTHING, Session
from replica.errors import KraftlakeError

POLL_TIMEOUT_MS = 1000
"""The timeout of each poll of an iteration. An iteration that is cancelled notices it within this
time."""

_log = logging.getLogger(__name__)


class NodeConnections(Protocol):
    """The way to the nodes."""

    def call(self, ask: values.Ask) -> Coroutine[None, None, values.Answer]:
        """The node's answer. Where none comes, the result has the error NETWORK_EXCEPTION, or is
        Metadata without a partition.

        Raises KraftlakeError where the same call would fail again: authentication, unknown
        requests.
        """

    async def close(self) -> None:
        """Close all connections. Calls that still wait end."""


def log_report(report: values.Report) -> None:
    """Writes a report to Python's log. An iteration does this where its caller takes no reports."""
    _log.warning("%s", report)


class _Reader:
    """A consumer's position in its session, and the calls that move it: the same for both
    consumers."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def position(self) -> values.FetchPosition | None:
        """The position of the next record that a poll returns; None while it is being looked up."""
        return self._session.position

    @property
    def high_watermark(self) -> int:
        """Exclusive, of the replica that was read last; -1 before the first answer."""
        return self._session.high_watermark

    @property
    def is_at_end(self) -> bool:
        """Whether polls have returned everything that the replica which was read last has shown."""
        position, end = self.position, self.high_watermark
        return position is not None and 0 <= end <= position.offset

    def seek(self, position: values.FetchPosition) -> None:
        """Read on from this position (see Session.seek)."""
        self._session.seek(position)

    def reset(self, policy: values.ResetPolicy) -> None:
        """Read on from the earliest or latest offset."""
        self._session.reset(policy)


class AsyncConsumer(_Reader):
    """Reads only while it is polled, though a fetch may wait at the node between two polls.

    clock: gives ms that never go back.
    """

    def __init__(
        self,
        session: Session,
        connections: NodeConnections,
        clock: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
    ) -> None:
        super().__init__(session)
        self._connections = connections
        self._clock = clock
        self._asked: tuple[int, asyncio.Task[values.Answer]] | None = None
        self._forgotten: set[asyncio.Task[values.Answer]] = set()

    async def poll(self, timeout_ms: int) -> values.Polled:
        """The next records or reports; an empty Polled where none came within the time.

        Raises NoOffsetError and LogTruncationError, each time until a seek or reset. Raises
        ReadRefusedError, DataError and what NodeConnections.call raises; another poll tries again.
        """
        deadline = self._clock() + timeout_ms
        while True:
            polled = await self._step(deadline)
            if polled or self._clock() >= deadline:
                return polled

    async def records(
        self, on_report: Callable[[values.Report], None] = log_report
    ) -> AsyncIterator[values.ConsumerRecord]:
        """All records from here on, without end."""
        while True:
            polled = await self.poll(POLL_TIMEOUT_MS)
            for report in polled.reports:
                on_report(report)
            for record in polled.records:
                yield record

    async def close(self) -> None:
        """Close the selector and the connections."""
        self._session.close()
        tasks = set(self._forgotten)
        if self._asked is not None:
            tasks.add(self._asked[1])
            self._asked = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._connections.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _step(self, deadline: int) -> values.Polled:
        """Send the session's next request if there is one, and wait for its answer. Without a
        request, wait until there is one."""
        now = self._clock()
        self._ask(now)
        if self._asked is None:
            at = self._session.next_at()
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
            self._session.forget(ask_id, self._clock())
            raise
        return self._session.answer(ask_id, answer, self._clock())

    def _ask(self, now_ms: int) -> None:
        """Send the session's next request, if it has one. A request before it, whose answer the
        session doesn't want any more, goes on beside it: to break it off would cost the
        connection."""
        asked = self._session.next_ask(now_ms)
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
            task.exception()  # marks the error as seen: nobody waits for the task any more


class Consumer(_Reader):
    """A consumer for callers without an event loop: it has a loop of its own, which runs while the
    consumer is polled. Iterating over it gives all records from here on, without end."""

    def __init__(
        self,
        session: Session,
        connections: NodeConnections,
        on_report: Callable[[values.Report], None] = log_report,
    ) -> None:
        super().__init__(session)
        self._runner = asyncio.Runner()
        self._consumer = AsyncConsumer(session, connections)
        self._on_report = on_report
        self._is_closed = False

    def poll(self, timeout_ms: int) -> values.Polled:
        """Poll as AsyncConsumer.poll does. Raises KeyboardInterrupt for Ctrl-C."""
        try:
            return self._runner.run(self._consumer.poll(timeout_ms))
        except asyncio.CancelledError:
            # only Ctrl-C cancels it, and a Runner may lose an interrupt that comes just as it
            # starts
            raise KeyboardInterrupt from None

    def __iter__(self) -> Iterator[values.ConsumerRecord]:
        while True:
            polled = self.poll(POLL_TIMEOUT_MS)
            for report in polled.reports:
                self._on_report(report)
            yield from polled.records

    def close(self) -> None:
        """Close the selector, the connections and the loop. A second call does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._runner.run(self._consumer.close())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
