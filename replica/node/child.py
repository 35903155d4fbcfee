"""Does work in a child process, on a copy of this process's memory (fork). The child has its own
interpreter lock, and a lower priority for the processor."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import signal
import stat
import sys
from collections.abc import Callable
from typing import Generic, TypeVar

NICENESS = 5
"""The increase of the nice value. If all processors are busy, the child gets a third of the time of
another process."""
_READ_BYTES = 64 * 1024
_SET_PDEATHSIG = 1

T = TypeVar("T")


class LostChildError(Exception):
    """The operating system made no child process, or the child ended without an outcome, for
    example because the system killed it when memory was short."""


class Child(Generic[T]):
    """A child process that does one piece of work. The child also ends when this process ends.

    The child is a copy of this process in which only the calling thread runs. So `work` may use no
    lock, no event loop and no connection.

    pid: the child's process id.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        """Start the child, which calls `work`. Raises LostChildError on a system other than Linux,
        and if the system makes no child."""
        if not sys.platform.startswith("linux"):
            raise LostChildError("only Linux ends a child with its parent")
        prctl, parent = ctypes.CDLL(None).prctl, os.getpid()
        self._outcome, outcome = os.pipe()
        try:
            self.pid = os.fork()
        except OSError as error:
            os.close(self._outcome)
            os.close(outcome)
            raise LostChildError(str(error)) from error
        if self.pid == 0:
            try:
                prctl(_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() == parent:  # else the parent has ended before
                    _let_go()
                    _write(outcome, _outcome_of(work))
            finally:
                os._exit(0)
        os.close(outcome)

    def outcome(self) -> T:
        """Wait for the end of the child. Returns the result of `work`, or raises the error that
        `work` raised. Raises LostChildError if the child ended without an outcome."""
        pieces = []
        while piece := os.read(self._outcome, _READ_BYTES):
            pieces.append(piece)
        os.close(self._outcome)
        os.waitpid(self.pid, 0)
        try:
            value, error = pickle.loads(b"".join(pieces))  # noqa: S301 - of our own child
        except (EOFError, pickle.UnpicklingError) as lost:
            raise LostChildError(f"process {self.pid} ended without an outcome") from lost
        if error is not None:
            raise error
        done: T = value
        return done


def _let_go() -> None:
    """In a new child, give up everything that belongs to its parent. A connection ends only when no
    process has it open, and the signal handlers are the parent's. The garbage collector is turned
    off, because it would copy each page that it marks."""
    gc.disable()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for name in os.listdir("/proc/self/fd"):
        _close_socket(int(name))
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    os.nice(NICENESS)


def _close_socket(handle: int) -> None:
    try:
        if stat.S_ISSOCK(os.fstat(handle).st_mode):
            os.close(handle)
    except OSError:  # the handle of the listing itself is closed already
        pass


def _outcome_of(work: Callable[[], T]) -> bytes:
    try:
        return pickle.dumps((work(), None))
    except BaseException as error:  # noqa: BLE001 - the parent raises it
        return pickle.dumps((None, error))


def _write(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
