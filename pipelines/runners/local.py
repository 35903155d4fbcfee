"""Runs stages in this process, in its threads, or in other processes of this machine."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context, parent_process
from types import TracebackType
from typing import Self

from pipelines.runners.attempt import Attempted, attempt
from pipelines.runners.runner import Runner
from pipelines.runners.stage import Result, Stage, Unit
from replica.errors import KraftlakeError

MOST_THREADS = 4
"""The most threads: a thread takes some 150 MB while it decodes."""
PROCESS_WEIGHT = 60_000
"""The number of records whose computation takes as long as the start of a process."""


class LostProcessError(KraftlakeError):
    """The system has ended a process that did a part of the work."""


def cores() -> int:
    """The number of cores of this machine that the system lets this process use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass
class LocalRunner(Runner):
    """Runs units in this process. Where there are several units, and enough work in them, threads
    or other processes share the work. Use it as a context manager: the processes end with the
    context."""

    name: str = "local"
    at_once: int = field(default_factory=cores)
    _pool: ProcessPoolExecutor | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def tasks_of(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> int:
        most = min(self.at_once, len(units))
        if stage.in_threads:
            return min(most, MOST_THREADS)
        return min(most, 1 + sum(map(stage.weight, units)) // PROCESS_WEIGHT)

    def _attempted(self, stage: Stage[Unit, Result], units: Sequence[Unit]) -> Iterator[Attempted]:
        function, numbers = partial(attempt, stage.function), range(len(units))
        tasks = self.tasks_of(stage, units)
        if tasks < 2:
            yield from map(function, numbers, units)
        elif stage.in_threads:
            with ThreadPoolExecutor(tasks) as threads:
                yield from threads.map(function, numbers, units)
        else:
            yield from self._in_processes(function, units)

    def _in_processes(
        self, function: partial[Attempted], units: Sequence[Unit]
    ) -> Iterator[Attempted]:
        if self._pool is None:
            # a forked process would have the locks of delta-rs's threads, but not the threads
            self._pool = ProcessPoolExecutor(self.at_once, get_context("spawn"), begin_process)
        try:
            yield from self._pool.map(function, range(len(units)), units)
        except BrokenProcessPool as error:
            raise LostProcessError(
                "a process was ended from outside, perhaps for memory: run the same command again"
            ) from error


def begin_process() -> None:
    """Runs first in each process of a pool: the process leaves Ctrl-C to its parent, and ends when
    its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
