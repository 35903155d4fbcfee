"""An export is written to a draft first. The finished draft replaces the file or folder of -o."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipelines.own_folder import hold
from replica.errors import UsageError

_NO_LINK = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


@contextmanager
def draft_of(output: Path) -> Iterator[Path]:
    """A path to write the export to. It is renamed to `output` after success, and otherwise
    removed.

    The path lies in a folder beside `output`, which one process holds at a time. The system frees
    the folder when the process ends, so the next export recognizes what a killed export has left.
    Raises BusyError where another export writes the same output, UsageError for errors of the disk.
    """
    folder = output.with_name(f".{output.name}.kraftlake-part")
    try:
        with _held(folder):
            _remove_all(folder)
            draft = folder / output.name
            try:
                yield draft
                if output.is_dir():  # a folder can't be replaced in one step, a file can
                    os.rename(output, draft.with_name(f"{output.name}.before"))
                os.replace(draft, output)
            finally:
                with suppress(OSError):  # the next export removes it
                    _remove(folder)
    except OSError as error:
        raise UsageError(
            f"-o {output}: {error.strerror or error}; name a place that can be written"
        ) from error


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Makes the folder, and locks it until the block ends. Raises BusyError where another process
    has the lock, UsageError where another user made the folder, and OSError for an error of the
    disk."""
    while True:
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        try:
            handle = os.open(folder, _NO_LINK)
        except FileNotFoundError:  # its holder has just ended
            continue
        try:
            hold(handle, f"{folder}: another kraftlake export writes there; wait for its end")
            if _is_at(handle, folder):
                yield
                return
        finally:
            os.close(handle)


def _is_at(handle: int, folder: Path) -> bool:
    """Whether the open folder still has this name. The process that had the lock before may have
    removed it. Raises UsageError where another user made the folder."""
    held = os.fstat(handle)
    if held.st_uid != os.geteuid():
        raise UsageError(f"{folder}: another user made this folder: name another place")
    try:
        return os.path.samestat(held, folder.lstat())
    except FileNotFoundError:
        return False


def _remove_all(folder: Path) -> None:
    for left in folder.iterdir():
        _remove(left)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)
