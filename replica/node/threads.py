"""Work of a replica outside its event loop: a child process writes snapshots, a thread gives
records to a state machine that is far behind, and a thread syncs the log.

A snapshot of a large cluster, or the replay of a long log, takes seconds, and a sync of a busy disk
up to a second. If the event loop did this work, no fetch would be answered meanwhile, and a leader
would lose its leadership. The work uses only values that nobody else changes meanwhile. The event
loop takes the outcome.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from replica.host.host import BegunSnapshot, Host
from replica.host.replay import BegunReplay
from replica.node.child import Child, LostChildError
from replica.raft.effects import Effects
from replica.raft.snapshots import SnapshotPolicy
from replica.storage.begun_flush import BegunFlush
from replica.storage.stored_batches import StoppedReadError

SWITCH_S = 0.0002
"""The longest time (s) that the event loop waits for the interpreter's lock after each system call
while another thread works. A commit takes dozens of system calls, so Python's default of 5 ms would
make commits too slow."""
SYNC_S = 0.001
"""The time (s) that the event loop waits for a sync before it continues with other work."""
T = TypeVar("T")


class Threads:
    """The work of one replica outside its event loop.

    clock: a function that gives the time in ms.
    policy: when a snapshot is due; None for no snapshots.
    do: a function of the driver that calls the host and handles the effects.
    watch: a function that watches a task. An error of the task stops the replica.
    """

    def __init__(
        self,
        host: Host,
        clock: Callable[[], int],
        policy: SnapshotPolicy | None,
        do: Callable[[Callable[[int], list[Effects]]], None],
        watch: Callable[[asyncio.Task[Any]], None],
    ) -> None:
        self._host = host
        self._clock = clock
        self._policy = policy
        self._do = do
        self._watch = watch
        self._snapshot_at = clock()
        self._ratio = (0, 0.0)  # (new bytes when it was computed, changed ratio)
        self._snapshot: asyncio.Task[None] | None = None
        self._replay: BegunReplay | None = None
        self._replaying: asyncio.Task[None] | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._syncer = ThreadPoolExecutor(1, "sync")

    @property
    def is_writing_snapshot(self) -> bool:
        """Whether a snapshot is being written now."""
        return self._snapshot is not None

    @property
    def is_flushing(self) -> bool:
        """Whether the log is being synced now."""
        return self._flushing is not None

    def flush(self) -> None:
        """Begin the flush that the replica has asked for, unless a flush is in progress: records
        that are appended meanwhile share the next flush. This method waits up to SYNC_S for the end
        of the flush, because on a fast disk waking up the event loop would take as long as the
        sync."""
        begun = self._host.begin_flush() if self._flushing is None else None
        if begun is None:
            return
        syncing = self._syncer.submit(begun.run)
        if wait([syncing], SYNC_S).done:
            self._do(lambda now: self._host.end_flush(begun, now))
        else:
            self._flushing = asyncio.create_task(self._sync(begun, syncing))
            self._watch(self._flushing)

    def begin(self) -> list[Effects]:
        """Begin the snapshot or replay that is due. Returns the effects of the flush that a
        snapshot needs first; empty without a flush."""
        host = self._host
        replay = host.begin_replay() if host.is_behind else None
        if replay is not None:
            self._replay = replay
            self._replaying = asyncio.create_task(self._give_machine(replay))
            self._watch(self._replaying)
        if not self._is_snapshot_due():
            return []
        self._snapshot_at, self._ratio = self._clock(), (0, 0.0)
        effects = [] if host.is_applied_flushed else host.flush(self._clock())
        snapshot = host.begin_snapshot()
        if snapshot is not None:
            self._snapshot = asyncio.create_task(self._write(snapshot))
            self._watch(self._snapshot)
        return effects

    async def finish(self) -> None:
        """Wait until no other thread or process uses the folder and the state machine. A replay is
        stopped early."""
        if self._replay is not None:
            self._replay.stop()
        all_tasks = (self._snapshot, self._replaying, self._flushing)
        tasks = [task for task in all_tasks if task is not None]
        if tasks:
            await asyncio.wait(tasks)
        self._syncer.shutdown()

    async def _sync(self, begun: BegunFlush, syncing: Future[None]) -> None:
        await asyncio.wrap_future(syncing)
        self._flushing = None
        self._do(lambda now: self._host.end_flush(begun, now))

    async def _write(self, begun: BegunSnapshot) -> None:
        facts = await in_child(begun.write)
        self._snapshot = None
        self._do(lambda now: self._host.end_snapshot(begun, facts, now))

    async def _give_machine(self, begun: BegunReplay) -> None:
        with contextlib.suppress(StoppedReadError):
            await in_thread(begun.run)
            self._replay = self._replaying = None
            self._do(lambda now: self._host.end_replay(begun))

    def _is_snapshot_due(self) -> bool:
        policy, host = self._policy, self._host
        if policy is None or not host.new_bytes or self.is_writing_snapshot or host.is_behind:
            return False
        age_ms = self._clock() - self._snapshot_at
        return policy.is_due(host.new_bytes, age_ms, self._changed_ratio(policy))

    def _changed_ratio(self, policy: SnapshotPolicy) -> float:
        """The share (0 to 1) of the image that has changed since the last snapshot. 1.0 if the
        policy doesn't need the share; 0.0 while there are fewer new bytes than
        `policy.max_new_bytes`.

        Computing the share compares whole images. So the share is computed when the new bytes reach
        `max_new_bytes`, and again each time the new bytes have grown by an eighth of
        `max_new_bytes`.
        """
        if policy.min_changed_ratio is None:
            return 1.0
        new_bytes, (computed_at, ratio) = self._host.new_bytes, self._ratio
        if new_bytes < policy.max_new_bytes:
            return 0.0
        if not computed_at <= new_bytes < computed_at + max(1, policy.max_new_bytes // 8):
            ratio = self._host.machine.changed_ratio()
            self._ratio = (new_bytes, ratio)
        return ratio


async def in_thread(work: Callable[[], T]) -> T:
    """Do `work` in another thread, and return its result. This function sets the interpreter's
    switch interval to SWITCH_S for the whole process."""
    sys.setswitchinterval(SWITCH_S)
    return await asyncio.to_thread(work)


async def in_child(work: Callable[[], T]) -> T:
    """Do `work` in a child process, and return its result. If no child process can be made, or the
    child is lost, another thread does the work from its beginning."""
    try:
        child = Child(work)
        return await asyncio.to_thread(child.outcome)
    except LostChildError:
        return await in_thread(work)
