"""Shows long answers in a pager, on a terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LESS = ("less", "-FRSX")
"""less ends by itself where the answer fits on one screen, doesn't wrap long lines, and leaves the
answer on the screen."""


def pager_command() -> list[str]:
    """The command in $PAGER, else less. Empty where neither exists, or where PAGER is empty or
    cat."""
    named = os.environ.get("PAGER")
    if named is not None:
        return [] if named.strip() in ("", "cat") else shlex.split(named)
    return list(_LESS) if shutil.which(_LESS[0]) else []


@contextmanager
def paged() -> Iterator[None]:
    """Send what is printed inside through the pager. If the user leaves the pager early, the answer
    ends without an error."""
    command = pager_command() if sys.stdout.isatty() else []
    pager = None
    with suppress(OSError):
        if command:
            pager = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)  # noqa: S603, the user's
    if pager is None or pager.stdin is None:
        yield
        return
    terminal, sys.stdout = sys.stdout, pager.stdin
    try:
        with suppress(BrokenPipeError):
            yield
    finally:
        sys.stdout = terminal
        with suppress(BrokenPipeError):
            pager.stdin.close()
        pager.wait()
