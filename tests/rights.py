"""Processes that are bound by the modes of files, even where root runs the tests. Without this,
root may read and write every file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.forked import completed
from tests.kraftlake_process import (
    NO_VARIABLES,
    REPOSITORY,
    WITHIN_S,
    command_line,
    may_fork,
    wanted,
)

_WITHOUT_ROOTS_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""

needs_linux = pytest.mark.skipif(
    sys.platform != "linux" and os.geteuid() == 0,
    reason="rights of root are taken by Linux's prctl",
)


def bound(program: str, *words: object) -> list[str]:
    """The command of a program that is bound by the modes of files. program: its whole path."""
    first = [sys.executable, "-c", _WITHOUT_ROOTS_RIGHTS] if os.geteuid() == 0 else []
    return [*first, program, *map(str, words)]


def python(
    *words: object, variables: Mapping[str, str] = NO_VARIABLES
) -> subprocess.CompletedProcess[str]:
    """Runs the interpreter with these arguments in REPOSITORY, bound by the modes of files.
    variables: variables of its environment besides those of this process."""
    return subprocess.run(
        bound(sys.executable, *words),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
        env={**os.environ, **variables},
    )


def kraftlake(
    *words: object, variables: Mapping[str, str] = NO_VARIABLES
) -> subprocess.CompletedProcess[str]:
    """Runs the command `kraftlake` with these arguments, bound by the modes of files. variables: as
    for `python`."""
    if may_fork(variables):
        asked = replace(wanted(words, variables), is_bound_by_modes=True)
        return completed(asked, "", WITHIN_S)
    return python(*command_line(*words)[1:], variables=variables)


def skip_unless_bound(path: Path) -> None:
    """Skips the test where even such a process may list `path`, a folder of mode 0."""
    if python("-c", f"import os; os.listdir({str(path)!r})").returncode == 0:
        pytest.skip("root can't be kept from reading here")


@contextmanager
def read_only(*folders: Path) -> Iterator[None]:
    """Makes the folders, and what is in them, read-only for every user except root."""
    every = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    before = {path: path.stat().st_mode for path in every}
    for path in reversed(every):
        path.chmod(before[path] & ~0o222)
    try:
        yield
    finally:
        for path in every:
            path.chmod(before[path])
