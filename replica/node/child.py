"""Work that a process of its own does, on a copy of this one's memory (fork): it takes the
interpreter's lock from nobody and, at its lower priority, the processor neither."""

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
"""What is added to the nice value: where processors are short, such a process gets a third of what
another one gets."""
_READ_BYTES = 64 * 1024
_SET_PDEATHSIG = 1

T = TypeVar("T")


class LostChildError(Exception):
    """There is no child process, or it ended without an outcome, as one that the system kills where
    memory is short."""


class Child(Generic[T]):
    """A process that does one piece of work, and ends. It ends too when this process does.

    It is a copy of this process, in which only the calling thread goes on. So `work` may use no
    lock, no event loop and no connection.

    pid: its process id.
    """

    def __init__(self, work: Callable[[], T]) -> None:
        """Raises LostChildError where the system makes no child."""
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
                if os.getppid() == parent:  # It may have ended before that took hold.
                    _let_go()
                    _write(outcome, _outcome_of(work))
            finally:
                os._exit(0)
        os.close(outcome)

    def outcome(self) -> T:
        """Wait for the end of the process. Returns what `work` returned, and raises what it raised;
        raises LostChildError where the process ended before."""
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
    """Let the child, which has just begun, use nothing that belongs to its parent: a connection
    ends only once no process has it open, and signals reach the parent's loop. The collector would
    copy each page that it marks."""
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
    except OSError:  # the listing's own handle is closed by now
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
