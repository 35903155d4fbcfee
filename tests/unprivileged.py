"""Commands run as a user whom the permissions of files hold, whoever runs the tests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

_WITHOUT_RIGHTS = "--bounding-set=-dac_override,-dac_read_search"
"""root without the capabilities by which permissions of files don't hold for it."""


@cache
def words_or_skip() -> tuple[str, ...]:
    """What stands before a command; the test is skipped where root can't give its rights away."""
    if os.geteuid() != 0:
        return ()
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("run by root, and without setpriv no command is held by permissions")
    tried = subprocess.run([setpriv, _WITHOUT_RIGHTS, "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip(f"run by root, and setpriv says: {tried.stderr.decode()}")
    return (setpriv, _WITHOUT_RIGHTS)


@contextmanager
def read_only(*folders: Path) -> Iterator[None]:
    """Nobody but root may write to the folders, and what lies in them."""
    every = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    before = {path: path.stat().st_mode for path in every}
    for path in reversed(every):
        path.chmod(before[path] & ~0o222)
    try:
        yield
    finally:
        for path in every:
            path.chmod(before[path])
