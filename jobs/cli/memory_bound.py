"""Limits the memory of a command that answers other people's queries, or opens their files.

Engines count only a part of their memory, and an allocation that fails ends them without a message.
So the command runs in a child process, and the parent watches the child's memory until the child
ends.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path

from jobs.cli.output import error_line
from replica.errors import UsageError

VARIABLE = "KRAFTLAKE_MEMORY"
"""The environment variable with the bound of any command, in the form of --memory."""
_GIB = 1 << 30
_LARGEST_DEFAULT = 4 * _GIB
_LEAST = 128 << 20
"""The least bound, in bytes. The engines themselves take about half of it."""
_LOOKED_EVERY_S = 0.02
_FAILED = 1
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": _GIB, "t": 1 << 40}
_SIZE = re.compile(r"(\d{1,6})([kmgt])(?:i?b)?", re.IGNORECASE)
_SET_PDEATHSIG = 1  # of linux/prctl.h
_SI_USER = 0  # of siginfo: kill() sent it
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def default_bound() -> int:
    """The bound in bytes: the value of VARIABLE; without this variable 4 GiB, or half of the memory
    of the machine or of its control group, where that is less, but at least _LEAST. Raises
    UsageError."""
    if VARIABLE in os.environ:
        return bound_of(os.environ[VARIABLE], VARIABLE)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        allowed = int(Path("/sys/fs/cgroup/memory.max").read_text())
    except (OSError, ValueError):  # there is no control group, or its limit is "max"
        allowed = pages
    return max(min(_LARGEST_DEFAULT, min(pages, allowed) // 2), _LEAST)


def bound_of(text: str | None, option: str = "--memory") -> int:
    """The bytes of an option, such as 512m or 4g; None stands for the default. Raises
    UsageError."""
    if text is None:
        return default_bound()
    found = _SIZE.fullmatch(text.strip())
    size = int(found[1]) * _UNITS[found[2].lower()] if found else 0
    if size < _LEAST:
        raise UsageError(f"{option} {text}: a number with m or g, such as 4g; at least 128m")
    return size


def keep_within(bound: int) -> None:
    """Continues in a child of this process. This process ends the child when it has more than
    `bound` bytes of resident memory, and otherwise ends with the child's exit code.

    Does nothing on a system that isn't Linux, and in a process that has begun other work: it may
    have threads, and a child would lack them.
    """
    global _is_one_command
    if not _is_one_command or not sys.platform.startswith("linux"):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    _is_one_command = False
    parent = os.getpid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (*_PASSED_ON, signal.SIGCHLD))
    child = os.fork()
    if child:
        os._exit(_watched(child, bound))
    import ctypes  # only here, because every start of the command would pay for it

    ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended before the setting took effect
        os._exit(_FAILED)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


_is_one_command = False


def run_one_command() -> None:
    """Notes that this process runs only one command, and has not begun it."""
    global _is_one_command
    _is_one_command = True


def _watched(child: int, bound: int) -> int:
    """Waits for the child's end, and passes signals on to it. Returns the exit code for this
    process, whose signals are blocked."""
    while True:
        told = signal.sigtimedwait((*_PASSED_ON, signal.SIGCHLD), _LOOKED_EVERY_S)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _as_its_own(status)
        if told is not None and told.si_signo in _PASSED_ON and told.si_code == _SI_USER:
            # the terminal itself would have sent the signal to the child, too
            os.kill(child, told.si_signo)
        if _resident(child) > bound:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            error_line(
                f"this takes more than {bound >> 20} MiB of memory: ask for less, "
                "or allow more with --memory"
            )
            return _FAILED


def _as_its_own(status: int) -> int:
    """The exit code of a child's wait status. Where a signal ended the child, the same signal ends
    this process."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (-code,))
        os.kill(os.getpid(), -code)
    return code if code >= 0 else 128 - code


def _resident(process: int) -> int:
    """The bytes of resident memory; 0 where the process has ended."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0
