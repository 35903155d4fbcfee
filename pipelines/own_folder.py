"""Folders to write to: new and empty ones, and those that an earlier run wrote to."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from replica.errors import BusyError, UsageError
from replica.format import meta_properties
from replica.format.file_names import is_metadata_folder

_OF_THE_DISK = ("lost+found",)
"""A name in the root of every new ext4 file system."""


def hold(handle: int, busy: str) -> None:
    """Locks an open file or folder. The system frees the lock when the handle is closed, also by
    the end of a killed process. Raises BusyError with the text `busy` where another process holds
    the lock, and OSError where the file system has no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BusyError(busy) from error


def refuse_foreign_names(
    place: str, names: Iterable[str], is_ours: Callable[[str], bool], what: str
) -> None:
    """Raises UsageError where one of the names in a folder isn't ours.

    place: the option and the folder, as the user gave them. what: the thing that is written to the
    folder, such as "lake".
    """
    foreign = sorted(name for name in names if not is_ours(name) and name not in _OF_THE_DISK)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise UsageError(
            f"{place}: holds {foreign[0]}{more}, and no {what}: name an empty or new folder, or "
            f"the {what}'s own"
        )


def refuse_in_log_directory(place: str, folder: str | os.PathLike[str]) -> None:
    """Raises UsageError where the folder to write to is in the log directory of a Kafka node: Kafka
    refuses to start where such a directory has a folder that is no partition. place: as in
    refuse_foreign_names."""
    for above in Path(os.path.realpath(folder)).parents:
        if os.path.lexists(above / meta_properties.FILE_NAME) or is_metadata_folder(str(above)):
            raise UsageError(
                f"{place}: lies in {above}, a node's log directory, with which Kafka would not "
                "start any more: name a folder elsewhere"
            )


def names_in(folder: str | os.PathLike[str]) -> list[str]:
    """The names in a folder; empty where the path is absent or isn't a folder: the code that makes
    the folder reports that error."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
