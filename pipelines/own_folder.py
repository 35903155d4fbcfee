"""Folders to write to: new and empty ones, and those that were written to before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from replica.errors import UsageError
from replica.format import meta_properties
from replica.format.discovery import is_metadata_folder

_OF_THE_DISK = ("lost+found",)
"""In the root of every new ext4 file system."""


def refuse_foreign_names(
    place: str, names: Iterable[str], is_ours: Callable[[str], bool], what: str
) -> None:
    """UsageError where one of the names in a folder is none that is ours.

    place: the option and the folder, as the user gave them. what: is written there.
    """
    foreign = sorted(name for name in names if not is_ours(name) and name not in _OF_THE_DISK)
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise UsageError(
            f"{place}: holds {foreign[0]}{more}, and no {what}: name an empty or new folder, or "
            f"the {what}'s own"
        )


def refuse_in_log_directory(place: str, folder: str | os.PathLike[str]) -> None:
    """UsageError where a folder to be written to lies in the log directory of a node of Kafka's,
    which does not start with a folder there that is no partition's. place: as above."""
    for above in Path(os.path.realpath(folder)).parents:
        if os.path.lexists(above / meta_properties.FILE_NAME) or is_metadata_folder(str(above)):
            raise UsageError(
                f"{place}: lies in {above}, a node's log directory, with which Kafka would not "
                "start any more: name a folder elsewhere"
            )


def names_in(folder: str | os.PathLike[str]) -> list[str]:
    """What lies in a folder; nothing where there is none, which whoever makes it tells."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
