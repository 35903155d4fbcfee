"""Finds the directories and files to read at or below a path that the user named. The path may be
a bundle."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import NamedTuple

from pipelines.capture.bundle import is_bundle, marked, unpack
from pipelines.capture.manifest import marked_as_cut
from replica.errors import UnreadableFileError, UsageError
from replica.format.damage import Damage, DamageKind
from replica.format.discovery import DiscoveredPath, NothingToReadError, discover
from replica.format.formatted import FormattedDirectory, formatted_below


class Discovered(NamedTuple):
    """The directories and files at or below a path that the user named. All names begin with the
    path as the user wrote it."""

    paths: Sequence[DiscoveredPath]
    damages: Sequence[Damage]
    """The folders and archives that can't be read."""
    formatted: Sequence[FormattedDirectory] = ()
    """The log directories without a metadata log."""


def discovered(path: str, stack: ExitStack, *, for_check: bool = False) -> Discovered:
    """The directories and files at or below the path.

    A bundle is unpacked into a folder that is removed when `stack` closes. for_check: whether
    formatted log directories alone are enough. Raises UsageError where the path doesn't exist, or
    has nothing to read below it.
    """
    if not is_bundle(path):
        damages: list[Damage] = []

        def on_error(error: UnreadableFileError) -> None:
            damages.append(unreadable(error.path, error.reason))

        formatted = [*formatted_below(path)]
        try:
            found = discover([path], on_error=on_error)
        except UsageError:
            if not (for_check and formatted):
                raise
            return _formatted_alone(damages, formatted)
        return Discovered([*map(marked_as_cut, found)], damages, formatted)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kraftlake-"))
    unpacked = unpack(path, folder, shown=path)
    formatted = [
        replace(one, shown=path + one.shown.removeprefix(folder)) for one in formatted_below(folder)
    ]
    try:
        found = discover([folder])
    except UsageError as error:
        if for_check and formatted:
            return _formatted_alone(unpacked.damages, formatted)
        if unpacked.damages:  # the damages say why
            return Discovered((), unpacked.damages)
        raise UsageError(f"{path}: holds no segment, snapshot or metadata directory") from error
    named = (replace(one, shown=path + one.shown.removeprefix(folder)) for one in found)
    read = [marked_as_cut(marked(one, unpacked.damages)) for one in named]
    return Discovered(read, unpacked.damages, formatted)


def discovered_each(
    paths: Iterable[str], stack: ExitStack, *, for_check: bool = False
) -> Iterator[tuple[str, Discovered]]:
    """Each path with the directories and files at or below it. A folder with nothing to read below
    it, such as a new disk's, is a damage where another path has something to read. Raises what
    `discovered` raises; where no path has anything to read, UsageError for the first path."""
    empty: list[NothingToReadError] = []
    is_empty = True
    for path in paths:
        try:
            below = discovered(path, stack, for_check=for_check)
        except NothingToReadError as error:
            empty.append(error)
            below = Discovered((), [error.damage])
        else:
            is_empty = False
        yield path, below
    if empty and is_empty:
        raise empty[0]


def _formatted_alone(
    damages: Sequence[Damage], formatted: Sequence[FormattedDirectory]
) -> Discovered:
    return Discovered((), damages, [replace(one, is_alone=True) for one in formatted])


def unreadable(shown: str, reason: str) -> Damage:
    """The damage of a file or folder that can't be read at all. shown: its name for people."""
    return Damage(0, 0, DamageKind.UNREADABLE, reason, shown)
