"""Runs a function on parts of the work: in Spark's tasks, in other processes or threads, or here.

Where the parts are small, handing them out takes longer than the work.
"""

from __future__ import annotations

import os
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from typing import TYPE_CHECKING, Any, TypeVar

from replica.errors import KraftlakeError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Part = TypeVar("Part")
Result = TypeVar("Result")


class Tasks(ABC):
    """The place where a function runs on parts of the work.

    at_once: how many parts run side by side. shares_memory: whether the function gets the parts as
    they are. Otherwise the function and the parts are pickled for another process.
    """

    at_once: int
    shares_memory: bool = False

    @abstractmethod
    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        """The results in the order of the parts, each as soon as it is ready."""

    def map(self, function: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
        """The results in the order of the parts."""
        return [*self.results(function, parts)]


@dataclass
class Here(Tasks):
    """Runs parts in threads of this process, or one after another. Threads are for work in kernels,
    Arrow and delta-rs, which release the interpreter's lock."""

    at_once: int = 1
    shares_memory = True

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
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


class OnSpark(Tasks):
    """Runs each part in a task of Spark, of which as many run side by side as Spark has cores.
    Spark gives all results at once."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self.at_once = self._context.defaultParallelism

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        if not parts:
            return iter(())
        return iter(self._context.parallelize(parts, len(parts)).map(function).collect())


class LostProcessError(KraftlakeError):
    """The system has ended a process that did parts of the work."""


@dataclass
class InProcesses(Tasks):
    """Runs each part in one of several processes of this machine. Raises LostProcessError where one
    of them was ended."""

    pool: ProcessPoolExecutor
    at_once: int

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
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
    """`count` processes, which end with the context; for one, this process itself."""
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


class Watched(Tasks):
    """Other tasks, whose caller wants to know their progress. watch: is called with each part once
    the part is done, in the order of the parts and in the caller's thread."""

    def __init__(self, tasks: Tasks, watch: Callable[[Any], None]) -> None:
        self._tasks, self._watch = tasks, watch
        self.at_once, self.shares_memory = tasks.at_once, tasks.shares_memory

    def results(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Iterator[Result]:
        for part, result in zip(parts, self._tasks.results(function, parts), strict=True):
            self._watch(part)
            yield result
