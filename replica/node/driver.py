"""Steps the replica of a process: the driver takes events, and sends the messages that result from
them.

Everything happens in one asyncio loop, and no step waits, so no lock is needed (`threads` does the
work that takes too long for a loop). When appended records wait for a sync, the driver first
handles the events that have already arrived, so that records which are appended together share one
sync.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from replica.errors import KraftlakeError, PeerError, UnsupportedByPeerError
from replica.host.host import Host
from replica.model.kafka_errors import ErrorCode
from replica.node.heard import Heard
from replica.node.threads import Threads
from replica.raft import inputs
from replica.raft.config import FOREVER, Config
from replica.raft.effects import Effects, Send, Stopped
from replica.raft.leader.accumulator import BufferAllocationError
from replica.raft.leader.leading import NotLeaderError, RecordBatchTooLargeError
from replica.raft.messages import (
    FetchRequest,
    FetchSnapshotRequest,
    PeerRequest,
    PeerResponse,
)
from replica.raft.raft import Raft
from replica.raft.roles import Candidate, Leader
from replica.raft.snapshots import SnapshotPolicy
from replica.storage.log import FileLog

CLEAN_EVERY_S = 60.0

_REFUSED = (NotLeaderError, RecordBatchTooLargeError, BufferAllocationError)
"""The errors of a refused append, which are raised to its caller. These errors leave the replica
unchanged."""


_FAILED = "the replica has stopped after an error"

Call = Callable[[Send], Awaitable[PeerResponse]]
"""A function that sends a request to a peer and waits for the answer. The function raises PeerError
if no answer comes."""


class Clock:
    """The time in ms since 1970 (UTC). This time never goes back, even when the machine's clock is
    set back."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def __call__(self) -> int:
        return int((time.monotonic() + self._offset) * 1000)


class LeadershipLostError(NotLeaderError):
    """This replica stopped leading after it had appended the records. These records may be
    committed or lost."""


class StoppedError(KraftlakeError):
    """The replica has stopped, or has failed. The replica answers no more requests."""


@dataclass(frozen=True, slots=True)
class CommittedAppend:
    """The records were committed at offsets up to `last_offset` (inclusive), in `epoch`."""

    base_offset: int
    last_offset: int
    epoch: int


def _core_error(error: PeerError) -> ErrorCode:
    unsupported = isinstance(error, UnsupportedByPeerError)
    return ErrorCode.UNSUPPORTED_VERSION if unsupported else ErrorCode.BROKER_NOT_AVAILABLE


class Driver:
    """Runs one replica. `run` ends when the replica has stopped. `run` raises the error that
    stopped the replica: an error of the disk, an error of the consensus core, or an unexpected
    error. After an error the replica answers nothing, because its state in memory may be
    inconsistent.

    host: an opened host that was not stepped yet.
    elections: the number of epochs in which this replica was a candidate.
    heard: when leaders answered this replica.
    on_commit: a function that is called for each append at this leader, with the seconds from the
        append to its commit.
    """

    def __init__(self, host: Host, call: Call, clock: Clock, policy: SnapshotPolicy | None) -> None:
        self.host = host
        self.call = call
        self.elections = 0
        self.heard = Heard()
        self.on_commit: Callable[[float], None] = lambda seconds: None
        self._clock = clock
        self._threads = Threads(host, clock, policy, self._do, self.watch)
        self._ids = itertools.count()
        self._asked: dict[int, asyncio.Future[PeerResponse]] = {}
        self._waiting: list[tuple[CommittedAppend, asyncio.Future[CommittedAppend]]] = []
        self._calls: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._flush_due = False
        self._news = asyncio.Event()
        self._known = self._facts()
        self._candidate_in = -1
        self._stopped: asyncio.Future[Stopped] = asyncio.get_running_loop().create_future()

    @property
    def raft(self) -> Raft:
        """The consensus core. Callers may only read it, because only the host steps the core."""
        return self.host.raft

    @property
    def log(self) -> FileLog:
        return self.host.log

    @property
    def config(self) -> Config:
        return self.host.config

    async def run(self) -> Stopped:
        """Run the replica until it has shut down, or an error stops it. Returns how the shutdown
        ended."""
        self._do(self.host.tick)
        cleaning = asyncio.create_task(self._clean())
        self.watch(cleaning)
        try:
            return await asyncio.shield(self._stopped)
        finally:
            cleaning.cancel()
            await self._threads.finish()
            self._close()

    def shut_down(self, timeout_ms: int) -> None:
        """Begin to stop: a leader tells the other voters that it resigns (EndQuorumEpoch) before
        `run` ends."""
        self.take(inputs.Shutdown(timeout_ms))

    async def ask(self, message: PeerRequest) -> PeerResponse:
        """Give the core the request of a peer or of an administrator, and return the core's answer.
        The wait may last as long as the request's own timeout. Raises StoppedError if an error has
        stopped the replica."""
        self.check()
        name = next(self._ids)
        future: asyncio.Future[PeerResponse] = asyncio.get_running_loop().create_future()
        self._asked[name] = future
        try:
            self.take(inputs.Request(name, message))
            answer = await future
        finally:
            del self._asked[name]
        self.check()
        return answer

    @property
    def has_failed(self) -> bool:
        """Whether an error has stopped the replica."""
        return self._stopped.done() and self._stopped.exception() is not None

    @property
    def is_writing_snapshot(self) -> bool:
        """Whether a snapshot is being written now."""
        return self._threads.is_writing_snapshot

    def check(self) -> None:
        """Raises StoppedError after an error, because the state in memory may be inconsistent."""
        if self.has_failed:
            raise StoppedError(_FAILED)

    def fail(self, error: BaseException) -> None:
        """Stop the replica with this error, which `run` raises. Later errors are ignored."""
        if not self._stopped.done():
            self._stopped.set_exception(error)

    def watch(self, task: asyncio.Task[Any]) -> None:
        """Watch a task that runs beside the replica: an error of the task stops the replica."""
        task.add_done_callback(self._judge)

    def _judge(self, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.fail(error)

    async def append(self, request: inputs.Propose | inputs.Append) -> CommittedAppend:
        """Append as the leader. Returns once all records are committed.

        Raises LeadershipLostError if this replica stopped leading before the commit: the replica
        can't know whether the records will be committed. After NotLeaderError,
        RecordBatchTooLargeError and BufferAllocationError, nothing was appended.
        """
        base = self.raft.next_append_offset
        last = base + request.record_count - 1
        future: asyncio.Future[CommittedAppend] = asyncio.get_running_loop().create_future()
        waiting = CommittedAppend(base, last, request.epoch), future
        self._waiting.append(waiting)
        try:
            self.take(request)
        except _REFUSED:
            self._waiting.remove(waiting)
            raise
        began = time.monotonic()
        appended = await future
        self.on_commit(time.monotonic() - began)
        return appended

    def now(self) -> int:
        """The time in ms, by the clock that the core gets."""
        return self._clock()

    async def wait_for_news(self, timeout_s: float) -> None:
        """Wait until the high watermark, the epoch, the log start or the log end changes, at most
        `timeout_s` seconds."""
        news = self._news
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await news.wait()

    def take(self, event: inputs.Input) -> None:
        """Step the replica with one event, at once."""
        self._do(lambda now: self.host.step(event, now))

    def _do(self, work: Callable[[int], list[Effects]]) -> None:
        if self._stopped.done():
            return
        try:
            for effects in work(self._clock()):
                self._network(effects)
                self._count_election()
            for effects in self._threads.begin():
                self._network(effects)
            self._settle_waiting()
            self._tell_news()
            self._schedule()
        except _REFUSED:
            raise
        except Exception as error:  # noqa: BLE001 - any error stops this replica
            self.fail(error)

    def _count_election(self) -> None:
        # The only voter of a quorum becomes candidate and leader within one step, so this method
        # never sees its role Candidate.
        role = self.raft.role
        if isinstance(role, Candidate | Leader) and role.epoch != self._candidate_in:
            self._candidate_in = role.epoch
            self.elections += 1

    def _network(self, effects: Effects) -> None:
        for reply in effects.replies:
            assert isinstance(reply.request_id, int), "as named in `ask`"
            future = self._asked.get(reply.request_id)
            if future is not None and not future.done():
                future.set_result(self.host.filled(reply))
        for send in effects.sends:
            task = asyncio.create_task(self._exchange(send))
            self.watch(task)
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)
        if effects.stopped is not None and not self._stopped.done():
            self._stopped.set_result(effects.stopped)

    async def _exchange(self, send: Send) -> None:
        try:
            message = await self.call(send)
        except PeerError as error:
            self.take(inputs.Failed(send.node_id, send.correlation_id, _core_error(error)))
        else:
            asked, is_fine = send.message, message.error is ErrorCode.NONE
            # Only the leader of the epoch that a fetch names answers the fetch without an error.
            if is_fine and isinstance(asked, FetchRequest | FetchSnapshotRequest):
                self.heard.answered(asked.epoch, time.monotonic())
            self.take(inputs.Response(send.node_id, send.correlation_id, message))

    def _facts(self) -> tuple[object, ...]:
        raft = self.raft
        log = raft.log
        return (
            raft.high_watermark,
            raft.leader_watermark,
            raft.role.epoch,
            log.log_start,
            log.log_end,
        )

    def _tell_news(self) -> None:
        facts = self._facts()
        if facts != self._known:
            self._known, news, self._news = facts, self._news, asyncio.Event()
            news.set()

    def _settle_waiting(self) -> None:
        """End the calls of `append` whose records are committed. Calls whose epoch is over raise
        LeadershipLostError."""
        if not self._waiting:
            return
        role, committed = self.raft.role, self.raft.high_watermark or 0
        epoch = role.epoch if isinstance(role, Leader) else None
        still = []
        for appended, future in self._waiting:
            if future.done():
                continue
            if appended.epoch != epoch:
                future.set_exception(
                    LeadershipLostError(
                        f"leader of epoch {appended.epoch} no more: outcome unknown"
                    )
                )
            elif appended.last_offset < committed:
                future.set_result(appended)
            else:
                still.append((appended, future))
        self._waiting = still

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        if self.host.owes_flush and not self._flush_due and not self._threads.is_flushing:
            self._flush_due = True
            loop.call_soon(self._flush)
        if self._timer is not None:
            self._timer.cancel()
        deadline = self.raft.next_deadline()
        if deadline < FOREVER:
            delay = max(0, deadline - self._clock()) / 1000
            self._timer = loop.call_later(delay, self._do, self.host.tick)

    def _flush(self) -> None:
        self._flush_due = False
        if not self._stopped.done():
            self._threads.flush()

    async def _clean(self) -> None:
        while True:
            await asyncio.sleep(CLEAN_EVERY_S)
            self.take(inputs.Clean(self.log.size_bytes))

    def _close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in tuple(self._calls):
            task.cancel()
        for asked in self._asked.values():
            if self.has_failed and not asked.done():
                asked.set_exception(StoppedError(_FAILED))
            else:
                asked.cancel()
        for _, future in self._waiting:
            future.cancel()
        self.log.close()
