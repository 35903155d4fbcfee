"""The files of a metadata directory, in the order in which they are to be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from replica.errors import UnreadableFileError, UsageError
from replica.format import (
    leader_epoch_checkpoint,
    meta_properties,
    quorum_properties,
    quorum_state,
    snapshot,
)
from replica.format.file_names import FileKind, classify
from replica.format.primitives import Buffer
from replica.format.reading import ReadFile

_READ_LAST = (leader_epoch_checkpoint.FILE_NAME, quorum_state.FILE_NAME)
"""Behind the logs: a checkpoint that was another one before them tells that they moved. What a log
proves to be committed rests on the replica not having voted in a newer epoch before that log was
read (replica.history.commitment)."""
_BESIDE = (meta_properties.FILE_NAME, snapshot.BOOTSTRAP_NAME, quorum_properties.FILE_NAME)


def check_folder(path: str) -> None:
    """UsageError where `path` is no folder, UnreadableFileError where that can't be seen."""
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError:
        is_folder = False
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
    if not is_folder:
        raise UsageError(f"{path}: not a directory")


def listing(path: str, parent: str) -> list[tuple[str, str]]:
    """(path relative to the node's log directory, path to open) of every file of a known kind.

    parent: where the node's own files lie, _BESIDE, unless they lie in the folder itself.
    UnreadableFileError where the folder can't be listed.
    """
    return sorted(_listed(path, parent), key=lambda listed: _turn(listed[0]))


def refuse_foreign_link(path: str) -> None:
    """UnreadableFileError where a file of a listing is a symbolic link to anything but a file of a
    known kind in the same folder: who made the directory may want other files to be read."""
    if not (os.path.islink(path) and os.path.exists(path)):
        return
    target, folder = os.path.realpath(path), os.path.realpath(os.path.dirname(path))
    is_known = classify(os.path.basename(target)).kind is not FileKind.OTHER
    if os.path.dirname(target) != folder or not is_known:
        reason = "a symbolic link to what is no file of this directory: it is not followed"
        raise UnreadableFileError(path, reason)


def own_files(read: ReadFile) -> ReadFile:
    """`read` that calls refuse_foreign_link before."""

    def read_own(path: str, limit: int) -> Buffer:
        refuse_foreign_link(path)
        return read(path, limit)

    return read_own


def _turn(relative: str) -> int:
    name = os.path.basename(relative)
    return _READ_LAST.index(name) + 1 if name in _READ_LAST else 0


def _listed(path: str, parent: str) -> Iterator[tuple[str, str]]:
    folder = os.path.basename(os.path.abspath(path))
    for name in _names(path):
        if classify(name).kind is not FileKind.OTHER:
            yield f"{folder}/{name}", os.path.join(path, name)
    draft = os.path.join(path, snapshot.DRAFT_FOLDER)
    if os.path.isdir(draft):
        for name in _names(draft):
            if classify(name).kind is FileKind.SNAPSHOT:
                yield f"{folder}/{snapshot.DRAFT_FOLDER}/{name}", os.path.join(draft, name)
    for name in _BESIDE:
        beside = os.path.join(parent, name)
        if os.path.lexists(beside) and not os.path.lexists(os.path.join(path, name)):
            yield name, beside


def _names(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
