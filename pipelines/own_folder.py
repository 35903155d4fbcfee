"""Folders to write to: new and empty ones, and those that were written to before."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from replica.errors import UsageError

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


def names_in(folder: str | os.PathLike[str]) -> list[str]:
    """What lies in a folder; nothing where there is none, which whoever makes it tells."""
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
