"""Folders for what a process keeps on disk while it runs."""

from __future__ import annotations

import atexit
import shutil
import tempfile


def folder_of_this_process(prefix: str) -> str:
    """A new folder that only its owner may look into, and that goes with the process."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
