"""Commands of `kraftlake` as processes that tests.fork_server forks: each has its own standard
streams, environment, folder and end. Linux only."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tests.fork_server import MOST_BYTES

_OF_LAKES = frozenset(
    ("build", "export", "forget", "ingest", "lake", "maintain", "quality", "report", "sql")
)
"""Commands that import Arrow."""
_ARROW = ("pyarrow.compute", "pyarrow.dataset", "pyarrow.parquet")
_WITHOUT_THREADS = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment variables for the server alone. Without them the server's imports start threads,
which a fork loses."""
_PIPE_BYTES = 1 << 16
"""The number of bytes that a pipe holds while nothing reads from it."""


@dataclass(frozen=True)
class Wanted:
    """A command to run.

    arguments: the words after `kraftlake`.
    variables: the whole environment.
    limits: for each resource its number, soft and hard limit, as setrlimit(2) takes them.
    is_bound_by_modes: whether the modes of files hold for the process also if root starts it.
    opened_to: a file into which the process writes each path that it opens.
    """

    arguments: tuple[str, ...]
    folder: str
    variables: Mapping[str, str]
    limits: tuple[tuple[int, int, int], ...] = ()
    is_bound_by_modes: bool = False
    opened_to: str | None = None


class Forked:
    """A running process, with the methods of subprocess.Popen that tests call."""

    def __init__(self, wanted: Wanted, stdin: int, stdout: int, stderr: int) -> None:
        self.args = ["kraftlake", *wanted.arguments]
        self.returncode: int | None = None
        message = json.dumps({**asdict(wanted), "umask": _umask()}).encode()
        assert len(message) <= MOST_BYTES
        self._told, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            files = [stdin, stdout, stderr, there.fileno()]
            server = _server(has_arrow=not _OF_LAKES.isdisjoint(wanted.arguments[:1]))
            socket.send_fds(server, [message], files)
        self.pid = self._number()

    def poll(self) -> int | None:
        return self._ended_within(0)

    def wait(self, timeout: float | None = None) -> int:
        code = self._ended_within(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended_within(self, seconds: float | None) -> int | None:
        if self.returncode is None and _ready((self._told.fileno(),), seconds):
            self.returncode = self._number()
            self._told.close()
        return self.returncode

    def _number(self) -> int:
        """The next number from the server: first the process's id, then its exit code."""
        told = self._told.recv(32)
        assert told, "the server of forks has ended"
        return int(told)


def completed(wanted: Wanted, text: str, within_s: float) -> subprocess.CompletedProcess[str]:
    """The result of subprocess.run for the command with `text` as its standard input."""
    deadline = time.monotonic() + within_s
    given = text.encode()
    assert len(given) <= _PIPE_BYTES
    (stdin, to_stdin), (out, to_out), (err, to_err) = os.pipe(), os.pipe(), os.pipe()
    os.write(to_stdin, given)
    os.close(to_stdin)
    try:
        process = Forked(wanted, stdin, to_out, to_err)
    finally:
        for file in (stdin, to_out, to_err):
            os.close(file)
    said = _read_to_the_end((out, err), deadline)
    if said is None:
        process.kill()
        raise subprocess.TimeoutExpired(process.args, within_s)
    code = process.wait(max(0, deadline - time.monotonic()))
    texts = [part.decode().replace("\r\n", "\n").replace("\r", "\n") for part in said]
    return subprocess.CompletedProcess(process.args, code, *texts)


def _read_to_the_end(files: tuple[int, ...], deadline: float) -> list[bytes] | None:
    """The bytes from pipes until all writers have closed them; None where that takes too long.
    Closes the pipes."""
    said = dict.fromkeys(files, b"")
    open_files = set(files)
    try:
        while open_files:
            ready = _ready(open_files, max(0, deadline - time.monotonic()))
            if not ready:
                return None
            for file in ready:
                part = os.read(file, 1 << 16)
                said[file] += part
                if not part:
                    open_files.remove(file)
        return list(said.values())
    finally:
        for file in files:
            os.close(file)


def _ready(files: Iterable[int], seconds: float | None) -> list[int]:
    """The files that can be read or have ended, as soon as there is one; none when the seconds are
    over."""
    waiting = select.poll()  # select.select fails for a file of a number above 1023
    for file in files:
        waiting.register(file, select.POLLIN)
    return [file for file, _ in waiting.poll(None if seconds is None else seconds * 1000)]


def _umask() -> int:
    """This process's umask. The system returns it only when another umask is set."""
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


@cache
def _server(*, has_arrow: bool) -> socket.socket:
    """The socket for requests to a server, which the first call starts. has_arrow: whether the
    server also imports Arrow, which takes memory in every process that it forks."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.fork_server",
                str(there.fileno()),
                *(_ARROW if has_arrow else ()),
            ],
            stdin=subprocess.DEVNULL,
            env=os.environ | _WITHOUT_THREADS,
            cwd=Path(__file__).parents[1],
            pass_fds=(there.fileno(),),
        )

    def end() -> None:
        here.close()
        process.wait()

    atexit.register(end)
    return here
