"""Folders for the files that a process keeps while it runs."""

from __future__ import annotations

import atexit
import shutil
import tempfile


def folder_of_this_process(prefix: str) -> str:
    """A new folder that only its owner can read, and that is deleted when the process ends."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
