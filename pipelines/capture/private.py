"""Files and folders for unredacted bytes. Whatever the umask is, only their owner has rights."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, BinaryIO

from replica.message.primitives import Buffer

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_PIECE_BYTES = 64 * 1024
_ZEROS = bytes(_PIECE_BYTES)


def make_folder(folder: Path) -> None:
    """Make the folder and the missing folders above it. Existing ones stay as they are. Raises
    OSError."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(FOLDER_MODE, exist_ok=True)


def room_for_strangers(folder: str) -> int:
    """How many bytes a bundle or an object store may put into the folder, which exists: half of the
    disk's free space. Raises OSError."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize // 2


def new_file(path: Path | str, folder: int | None = None) -> BinaryIO:
    """A new file for writing. No link is followed. folder: the open folder from which the path
    starts. Raises OSError, also FileExistsError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return open(os.open(path, flags, FILE_MODE, dir_fd=folder), "wb")


def write_with_holes(out: IO[bytes], data: Buffer) -> int:
    """Write the data at the file's present position, and leave holes for long runs of zeros.
    Returns how many bytes were left out. A caller that ends a file with a hole must truncate it to
    its size. Raises OSError."""
    view = memoryview(data)
    zeros = 0
    for at in range(0, len(view), _PIECE_BYTES):
        piece = view[at : at + _PIECE_BYTES]
        if piece == _ZEROS[: len(piece)]:
            out.seek(len(piece), os.SEEK_CUR)
            zeros += len(piece)
        else:
            out.write(piece)
    return zeros
