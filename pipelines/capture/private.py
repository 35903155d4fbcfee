"""Files and folders of unredacted bytes: their owner's only, whatever the umask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def make_folder(folder: Path) -> None:
    """The folder and what is missing above it; what is there stays as it is. OSError."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(FOLDER_MODE, exist_ok=True)


def new_file(path: Path) -> BinaryIO:
    """Made new, to be written; never through a link. OSError, FileExistsError among them."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return open(os.open(path, flags, FILE_MODE), "wb")
