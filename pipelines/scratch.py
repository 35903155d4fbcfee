"""Folders that a process needs for itself, and that go with it."""

from __future__ import annotations

import atexit
import shutil
import tempfile


def folder_of_this_process(prefix: str) -> str:
    """A new folder that only its owner may look into, removed when the process ends in order."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
