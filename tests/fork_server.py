"""A process that has imported the modules of `kraftlake` once, and forks for each command that
tests.forked asks for. The forked process runs the console script's `main`. It does the same as
`python -m jobs.cli`, except that the interpreter has started and the modules are imported already.

    python -m tests.fork_server SOCKET [MODULE...]

SOCKET: the number of an inherited socket, at which tests.forked asks. MODULE: more to import.
Linux only.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from typing import Any, NamedTuple

from jobs.cli import main as cli

MOST_BYTES = 1 << 17
"""The most bytes of a request."""
_MODULES = (
    "jobs.cli.directories.check",
    "jobs.cli.directories.recover",
    "jobs.cli.directories.timeline",
    "jobs.cli.directories.what_happened",
    "jobs.cli.engine.replica_observe",
    "jobs.cli.engine.replica_run",
    "jobs.build",
    "jobs.ingest",
)
_CAPABILITY_VERSION_3 = 0x20080522
_PR_CAPBSET_DROP = 24
_RIGHTS_OF_ROOT = 0b1110
"""The bits of CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH and CAP_FOWNER."""


class Request(NamedTuple):
    """A command to run. wanted: a tests.forked.Wanted as JSON. files: the command's standard input,
    output and error, and the socket to which this process writes the command's id and its end."""

    wanted: dict[str, Any]
    files: list[int]


def _serve(asked_at: socket.socket) -> Request:
    """Forks for every request. Only the forked process returns. The server itself ends when the
    other end of the socket is closed."""
    ended, on_end = os.pipe2(os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(on_end)
    told_at: dict[int, int] = {}
    while True:
        ready, _, _ = select.select((asked_at, ended), (), ())
        if ended in ready:
            os.read(ended, 4096)
            _tell_ends(told_at)
        if asked_at in ready:
            request = _received(asked_at)
            pid = os.fork()
            if pid == 0:
                asked_at.detach()
                return request
            *standard, told_at[pid] = request.files
            for file in standard:
                os.close(file)
            os.write(told_at[pid], b"%d\n" % pid)


def _received(asked_at: socket.socket) -> Request:
    message, files, _, _ = socket.recv_fds(asked_at, MOST_BYTES, 4)
    if not message:
        os._exit(0)
    return Request(json.loads(message), files)


def _tell_ends(told_at: dict[int, int]) -> None:
    while told_at:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        file = told_at.pop(pid)
        os.write(file, b"%d\n" % os.waitstatus_to_exitcode(status))
        os.close(file)


def _become(request: Request) -> None:
    """Gives the forked process the state of a newly started process: its standard streams, folder,
    environment, limits and rights."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for place, file in enumerate(request.files[:3]):
        os.dup2(file, place)
    os.closerange(3, 1024)
    sys.stdin = sys.__stdin__ = _text(0, "r", "strict")
    sys.stdout = sys.__stdout__ = _text(1, "w", "strict")
    sys.stderr = sys.__stderr__ = _text(2, "w", "backslashreplace")
    wanted = request.wanted
    os.chdir(wanted["folder"])
    os.umask(wanted["umask"])
    os.environ.clear()
    os.environ.update(wanted["variables"])
    time.tzset()
    for limited, first, most in wanted["limits"]:
        resource.setrlimit(limited, (first, most))
    if wanted["is_bound_by_modes"]:
        _drop_rights_of_root()
    if wanted["opened_to"] is not None:
        tell_what_is_opened(wanted["opened_to"])


def _text(file: int, mode: str, errors: str) -> Any:
    """A standard stream as Python makes it, which writes line by line to stderr or a terminal."""
    buffering = 1 if file == 2 or os.isatty(file) else -1
    return open(file, mode, buffering, "utf-8", errors, closefd=False)


def tell_what_is_opened(path: str) -> None:
    """Writes into a file which paths this process opens from now on, one path per line."""
    told = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            if arguments[2] & os.O_NOFOLLOW and os.path.islink(arguments[0]):
                return  # the system refuses it
            os.write(told, f"{arguments[0]}\n".encode())

    sys.addaudithook(note)


def _drop_rights_of_root() -> None:
    """Removes rights by capset(2): two sets of effective, permitted and inheritable capabilities,
    of 32 bits each. By prctl(2) programs that the process starts, such as a JVM, don't get the
    rights back."""
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(32):
        if _RIGHTS_OF_ROOT >> number & 1 and libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) == 0:
        for each in range(3):
            sets[each] &= ~_RIGHTS_OF_ROOT
        if libc.capset(header, sets) == 0:
            return
    raise OSError(ctypes.get_errno(), "capset")


if __name__ == "__main__":
    for _name in (*_MODULES, *sys.argv[2:]):
        importlib.import_module(_name)
    assert len(os.listdir("/proc/self/task")) == 1, "a fork has one thread of those that are here"
    gc.collect()
    gc.freeze()
    _request = _serve(socket.socket(fileno=int(sys.argv[1])))
    _become(_request)
    sys.argv = ["kraftlake", *_request.wanted["arguments"]]
    cli.main()
