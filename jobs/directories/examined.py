"""Reads the one directory that a user's path means, for a comparison."""

from __future__ import annotations

from replica.check.examined import Examined, examine
from replica.errors import UsageError
from replica.format.discovery import DirectoryPath, discover
from replica.scan.file_room import FileRoom


def examine_one(path: str) -> Examined:
    """Read the one metadata directory at or below `path`. Raises UsageError if there isn't exactly
    one."""
    found = discover([path])
    directories = [one for one in found if isinstance(one, DirectoryPath)]
    if len(directories) != len(found):
        raise UsageError(f"{path}: a file; name a metadata directory, or a folder above one")
    if len(directories) > 1:
        names = ", ".join(one.shown for one in directories[:4])
        raise UsageError(
            f"{path}: {len(directories)} metadata directories below it ({names}"
            f"{', ...' if len(directories) > 4 else ''}); name one of them"
        )
    return examine(directories[0], room=FileRoom.of_environment())
