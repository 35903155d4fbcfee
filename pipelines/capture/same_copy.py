"""Whether two directories are copies of one another, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Iterator

from replica.errors import UnreadableFileError
from replica.format.byte_source import ShrankError
from replica.format.discovery import DirectoryPath
from replica.format.meta_properties import FILE_NAME
from replica.format.reading import MAX_LOG_BYTES, open_own_file

_PIECE_BYTES = 1 << 20


def are_same_copy(one: DirectoryPath, other: DirectoryPath) -> bool:
    """Whether the metadata logs hold files of the same names with the same bytes, below the same
    meta.properties. False where a file can't be read, or changes meanwhile."""
    try:
        names = _names(one.path)
        return names == _names(other.path) and all(
            _are_equal(os.path.join(one.path, name), os.path.join(other.path, name))
            for name in (*names, os.path.join(os.pardir, FILE_NAME))
        )
    except (OSError, UnreadableFileError, ShrankError):
        return False


def _names(folder: str) -> list[str]:
    """The paths of all files below a folder, sorted."""
    found = []
    for root, _, files in os.walk(folder, onerror=_raised):
        found += [os.path.relpath(os.path.join(root, name), folder) for name in files]
    return sorted(found)


def _raised(error: OSError) -> None:
    raise error


def _are_equal(one: str, other: str) -> bool:
    with open_own_file(one, MAX_LOG_BYTES) as a, open_own_file(other, MAX_LOG_BYTES) as b:
        return a.size == b.size and all(
            a.read(start, size) == b.read(start, size) for start, size in _pieces(a.size)
        )


def _pieces(size: int) -> Iterator[tuple[int, int]]:
    """(first byte, size) of the pieces of a file of this size."""
    for start in range(0, size, _PIECE_BYTES):
        yield start, min(_PIECE_BYTES, size - start)
