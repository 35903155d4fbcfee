"""What lies below a path of the user's, also inside a bundle."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from pipelines.capture.bundle import is_bundle, unpack
from replica.errors import UnreadableFileError, UsageError
from replica.format.damage import Damage, DamageKind
from replica.format.discovery import Found, discover


def discovered(path: str, stack: ExitStack) -> tuple[Sequence[Found], Sequence[Damage]]:
    """(the directories and files at or below the path, what can't be read), in the user's names.

    A bundle is unpacked into a folder that is removed when `stack` closes. Raises UsageError where
    the path doesn't exist, or has nothing to read below it.
    """
    if not is_bundle(path):
        damages: list[Damage] = []
        found = discover([path], on_error=lambda error: damages.append(unreadable(error)))
        return found, damages
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kraftlake-"))
    unpacked = unpack(path, folder, shown=path)
    try:
        found = discover([folder])
    except UsageError as error:
        if unpacked.damages:  # The damages say why.
            return (), unpacked.damages
        raise UsageError(f"{path}: holds no segment, snapshot or metadata directory") from error
    named = [replace(one, shown=path + one.shown.removeprefix(folder)) for one in found]
    return named, unpacked.damages


def unreadable(error: UnreadableFileError) -> Damage:
    """The damage of a file or folder that can't be read at all."""
    return Damage(0, 0, DamageKind.UNREADABLE, error.reason, error.path)
