"""Processes without the rights of root, which reads and writes whatever a file's mode says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kraftlake_process import REPOSITORY, command_line

_WITHOUT_ROOTS_RIGHTS = """
import ctypes, os, sys
for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
    ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""

needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="rights of root are taken by Linux's prctl"
)


def python(*words: object) -> subprocess.CompletedProcess[str]:
    """The interpreter with these arguments, bound by the modes of files, from REPOSITORY."""
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT_ROOTS_RIGHTS, *map(str, words)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def kraftlake(*words: object) -> subprocess.CompletedProcess[str]:
    """The command, likewise."""
    return python(*command_line(*words)[1:])


def skip_unless_bound(path: Path) -> None:
    """Skips the test where even such a process may list `path`, a folder of mode 0."""
    if python("-c", f"import os; os.listdir({str(path)!r})").returncode == 0:
        pytest.skip("root can't be kept from reading here")
