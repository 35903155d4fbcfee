"""Finds the directories and files to read at or below a path that the user named. The path may be
a bundle."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from pipelines.capture.bundle import is_bundle, marked, unpack
from replica.errors import UnreadableFileError, UsageError
from replica.format.damage import Damage, DamageKind
from replica.format.discovery import Found, discover


def discovered(path: str, stack: ExitStack) -> tuple[Sequence[Found], Sequence[Damage]]:
    """(what is at or below the path, the folders and archives that can't be read). All names begin
    with the path as the user wrote it.

    A bundle is unpacked into a folder that is removed when `stack` closes. Raises UsageError where
    the path doesn't exist, or has nothing to read below it.
    """
    if not is_bundle(path):
        damages: list[Damage] = []

        def on_error(error: UnreadableFileError) -> None:
            damages.append(unreadable(error.path, error.reason))

        return discover([path], on_error=on_error), damages
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kraftlake-"))
    unpacked = unpack(path, folder, shown=path)
    try:
        found = discover([folder])
    except UsageError as error:
        if unpacked.damages:  # The damages say why.
            return (), unpacked.damages
        raise UsageError(f"{path}: holds no segment, snapshot or metadata directory") from error
    named = (replace(one, shown=path + one.shown.removeprefix(folder)) for one in found)
    return [marked(one, unpacked.damages) for one in named], unpacked.damages


def unreadable(shown: str, reason: str) -> Damage:
    """The damage of a file or folder that can't be read at all. shown: its name for people."""
    return Damage(0, 0, DamageKind.UNREADABLE, reason, shown)
