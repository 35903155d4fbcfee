"""Escapes the text that libraries print on stderr by themselves, because all text of a command is
escaped. A panic of delta-rs may repeat a text from the lake of a stranger."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from replica.terminal_text import one_line_bytes

_STDERR = 2
_LAST_LINES_S = 1.0
"""How long the end of a command waits for the last lines. A child may still hold the pipe."""
_MARK = os.urandom(16).hex().encode()
"""A line that no library prints. When this line comes out of the pipe, all text before it has been
passed on."""
_is_wanted = False
_own = _STDERR
_seen_mark = threading.Event()
_threads: list[threading.Thread] = []


@contextmanager
def of_a_command() -> Iterator[None]:
    """Marks that a command runs in the block. Only then this process's stderr is the command's; in
    a notebook or an executor it isn't."""
    global _is_wanted
    _is_wanted = not os.environ.get("KRAFTLAKE_DEBUG")
    try:
        yield
    finally:
        _is_wanted = False
        while _threads:
            os.dup2(_own, _STDERR)
            _threads.pop().join(_LAST_LINES_S)


def escape_library_text() -> None:
    """Lets text that libraries and child processes write to file descriptor 2 pass through
    replica.terminal_text from now on; `sys.stderr` gets a descriptor of its own. Starts a thread,
    once.

    Does nothing in a process that runs no command. Does nothing with KRAFTLAKE_DEBUG, because the
    last text of a library that ends the process would be lost. Text that a library writes at once
    beyond the size of a pipe (64 KiB on Linux) is lost, too: the library may keep the interpreter's
    lock, without which the thread can't read.
    """
    global _is_wanted, _own
    if not _is_wanted or not _has_stderr():
        return
    _is_wanted = False
    _own, (read_end, write_end) = os.dup(_STDERR), os.pipe()
    sys.stderr.flush()
    encoding, errors = sys.stderr.encoding, sys.stderr.errors
    sys.stderr = os.fdopen(_own, "w", 1, encoding, errors, closefd=False)
    os.set_blocking(write_end, False)
    os.dup2(write_end, _STDERR)
    os.close(write_end)
    lines = os.fdopen(read_end, "rb")
    thread = threading.Thread(target=_escape, args=(lines, _own), name="library-text", daemon=True)
    thread.start()
    _threads.append(thread)


def own_stderr() -> int:
    """The file descriptor for text that this process has escaped itself."""
    return _own


def pass_on() -> None:
    """Waits until all text that was written to file descriptor 2 so far is on stderr, but at most
    _LAST_LINES_S, so that a command's last line comes after it."""
    if _threads:
        _seen_mark.clear()
        with suppress(BlockingIOError):
            os.write(_STDERR, _MARK + b"\n")
            _seen_mark.wait(_LAST_LINES_S)


def _has_stderr() -> bool:
    """Whether Python's stderr is file descriptor 2. A test or a caller may have replaced it."""
    try:
        return sys.stderr.fileno() == _STDERR
    except (AttributeError, OSError, ValueError):
        return False


def _escape(lines: IO[bytes], to: int) -> None:
    with lines, suppress(OSError):  # Nobody reads stderr any more.
        for line in lines:
            text = line.rstrip(b"\r\n")
            shown = text.removesuffix(_MARK)
            if shown or not text:
                os.write(to, one_line_bytes(shown) + b"\n")
            if shown != text:
                _seen_mark.set()
