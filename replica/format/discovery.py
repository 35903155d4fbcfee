"""Finding metadata directories and single files below the paths that a user names.

A metadata directory is a folder called __cluster_metadata-0, a folder that holds a quorum-state
file, or the named folder itself where log segments or snapshots lie in it directly. Other
partitions of a broker's log directory are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from replica.errors import DataError, UnreadableFileError, UsageError
from replica.format import quorum_state
from replica.format.batch import HEADER, computed_crc, decode_header
from replica.format.directory import MetadataDirectory, read_directory
from replica.format.file_names import METADATA_FOLDER, FileKind, FileName, classify
from replica.format.reading import ReadFile, read_file

_SNIFFED_BYTES = 1024 * 1024
_LOG_KINDS = (FileKind.SEGMENT, FileKind.SNAPSHOT)


@dataclass(frozen=True, slots=True)
class DirectoryPath:
    """A metadata directory. path: where to open it; shown: how the user would name it."""

    path: str
    shown: str

    def shown_file(self, relative: str) -> str:
        """The user's name of a file, from its path relative to the node's log directory."""
        folder, _, rest = relative.partition("/")
        if rest and folder == os.path.basename(os.path.abspath(self.path)):
            return os.path.join(self.shown, rest)
        return os.path.join(self.shown_node, relative)

    @property
    def shown_node(self) -> str:
        """The user's name of the node's log directory, the folder above."""
        name = os.path.basename(os.path.abspath(self.path))
        if os.path.basename(self.shown) == name:
            return os.path.dirname(self.shown) or "."
        return os.path.join(self.shown, os.pardir)

    def read(self, read: ReadFile = read_file) -> MetadataDirectory:
        """The directory's content, its damages named by the user's file names."""
        return read_directory(self.path, read=read)


@dataclass(frozen=True, slots=True)
class FilePath:
    """A single file that the user named; `name` tells its kind."""

    path: str
    shown: str
    name: FileName


Found = DirectoryPath | FilePath


def discover(paths: Iterable[str]) -> tuple[Found, ...]:
    """Everything to read at or below the paths, in the order given, folders sorted by name.

    Raises UsageError for a path that doesn't exist, or below which there is nothing to read.
    """
    found: list[Found] = []
    for path in paths:
        below = list(_discover_one(path))
        if not below:
            raise UsageError(
                f"{path}: no metadata directory below it; expected a {METADATA_FOLDER} folder, "
                "a segment (.log) or a snapshot (.checkpoint)"
            )
        found.extend(below)
    return tuple(found)


def _discover_one(path: str) -> Iterator[Found]:
    if not os.path.lexists(path):
        raise UsageError(f"{path}: no such file or directory")
    if not os.path.isdir(path):
        yield FilePath(path, path, kind_of_file(path))
        return
    shown = path.rstrip("/") or "/"
    if _is_metadata_folder(path) or _holds_logs(path):
        yield DirectoryPath(path, shown)
        return
    yield from _below(path, shown, {os.path.realpath(path)})


def _below(path: str, shown: str, visited: set[str]) -> Iterator[Found]:
    for name in _folder_names(path):
        folder, label = os.path.join(path, name), os.path.join(shown, name)
        real = os.path.realpath(folder)
        if real in visited:  # a symbolic link back into the tree
            continue
        visited.add(real)
        if _is_metadata_folder(folder):
            yield DirectoryPath(folder, label)
        else:
            yield from _below(folder, label, visited)


def _folder_names(path: str) -> list[str]:
    try:
        names = [entry.name for entry in os.scandir(path) if entry.is_dir()]
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
    return sorted(names, key=lambda name: (not name.isdigit(), len(name) * name.isdigit(), name))


def _is_metadata_folder(path: str) -> bool:
    named = os.path.basename(os.path.abspath(path)) == METADATA_FOLDER
    return named or os.path.lexists(os.path.join(path, quorum_state.FILE_NAME))


def _holds_logs(path: str) -> bool:
    try:
        return any(classify(name).kind in _LOG_KINDS for name in os.listdir(path))
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error


def kind_of_file(path: str) -> FileName:
    """The kind by name; a file of another name is a segment if a whole batch starts it."""
    by_name = classify(os.path.basename(path))
    if by_name.kind is not FileKind.OTHER:
        return by_name
    if path.endswith((".log", ".checkpoint")) or _starts_with_batch(path):
        return FileName(FileKind.SEGMENT)
    return by_name


def _starts_with_batch(path: str) -> bool:
    try:
        data = _first_bytes(path)
        header = decode_header(data)
    except (OSError, DataError):
        return False
    whole = memoryview(data)[: header.size_bytes]
    return len(whole) == header.size_bytes >= HEADER.size and computed_crc(whole) == header.crc


def _first_bytes(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        return file.read(_SNIFFED_BYTES)
