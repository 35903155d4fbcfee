"""A function over parts of the work: run in Spark's tasks, in other processes or threads, or here.

Where the parts are small, it takes longer to hand them out than to do the work.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from replica.errors import KraftlakeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Part = TypeVar("Part")
Result = TypeVar("Result")


class Tasks(Protocol):
    """The place where a function runs. In another process the function and the parts are
    pickled."""

    @property
    def at_once(self) -> int:
        """How many parts run side by side."""

    @property
    def shares_memory(self) -> bool:
        """Whether parts are passed as they are, not pickled."""

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """The results in the order of the parts, each as soon as it is ready."""

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """The results in the order of the parts."""


class _Mapping:
    """Tasks that give their results one after another."""

    def map(self: Tasks, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """The results in the order of the parts."""
        return [*self.results(function, parts)]


@dataclass(frozen=True)
class Here(_Mapping):
    """Runs parts in threads of this process, or one after another. Threads are for work in kernels,
    Arrow and delta-rs, which release the interpreter's lock and share this process's memory."""

    at_once: int = 1
    shares_memory: ClassVar[bool] = True

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """As of Tasks."""
        if min(self.at_once, len(parts)) < 2:
            yield from map(function, parts)
            return
        with ThreadPoolExecutor(self.at_once) as pool:
            yield from pool.map(function, parts)


MOST_THREADS = 4
"""A thread takes some 150 MB while it decodes."""


def threads() -> Tasks:
    """Threads of this process: as many as there are cores, up to MOST_THREADS."""
    return Here(min(cores(), MOST_THREADS))


@dataclass(frozen=True)
class OnSpark(_Mapping):
    """Runs each part in a task of Spark."""

    spark: SparkSession
    shares_memory: ClassVar[bool] = False

    @property
    def at_once(self) -> int:
        """The number of Spark's cores."""
        return self.spark.sparkContext.defaultParallelism

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """As of Tasks, except that Spark gives all results at once."""
        if not parts:
            return iter(())
        context = self.spark.sparkContext
        return iter(context.parallelize(parts, len(parts)).map(function).collect())


class LostProcessError(KraftlakeError):
    """The system has ended a process that did parts of the work."""


@dataclass(frozen=True)
class InProcesses(_Mapping):
    """Runs each part in one of several processes of this machine."""

    pool: ProcessPoolExecutor
    at_once: int
    shares_memory: ClassVar[bool] = False

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """As of Tasks. LostProcessError where a process was ended."""
        try:
            yield from self.pool.map(function, parts)
        except BrokenProcessPool as error:
            raise LostProcessError(
                "a process was ended from outside, perhaps for memory: run the same command again"
            ) from error


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def processes(count: int) -> Iterator[Tasks]:
    """So many processes, which end with the context; this process alone where `count` is one."""
    if count <= 1:
        yield Here()
        return
    # a fork would have the locks of delta-rs's threads, but not the threads
    pool = ProcessPoolExecutor(count, get_context("spawn"), begin_process)
    try:
        yield InProcesses(pool, count)
    finally:
        pool.shutdown(cancel_futures=True)


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


@dataclass(frozen=True)
class Watched(_Mapping):
    """Other tasks, whose caller wants to know their progress.

    watch: is told each part, in the order of the parts and in the caller's thread, once the part is
    done.
    """

    tasks: Tasks
    watch: Callable[[Any], None]

    @property
    def at_once(self) -> int:
        """See Tasks."""
        return self.tasks.at_once

    @property
    def shares_memory(self) -> bool:
        """See Tasks."""
        return self.tasks.shares_memory

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """As of Tasks."""
        for part, result in zip(parts, self.tasks.results(function, parts), strict=True):
            self.watch(part)
            yield result
