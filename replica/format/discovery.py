"""Finds metadata directories and single files below the paths that a user names.

A metadata directory is a folder called __cluster_metadata-0, a folder with a quorum-state file, or
a folder with segments or snapshots that the user names. Other partitions of a broker's log
directory are left out. A recorder's archive, which no longer belongs to the log, is left out unless
a path names it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from replica.errors import DataError, UnreadableFileError, UsageError
from replica.format import capture, partition_metadata, segment
from replica.format.batch import HEADER, computed_crc, decode_header
from replica.format.damage import Damage, DamageKind
from replica.format.directory import MetadataDirectory, read_directory
from replica.format.file_names import (
    ARCHIVE_FOLDER,
    METADATA_FOLDER,
    FileKind,
    FileName,
    classify,
    is_metadata_folder,
)
from replica.format.reading import MAX_STATE_BYTES, ReadFile, own_source, read_own_file

_NOTHING = (
    "a folder without a metadata directory, a segment or a snapshot: an empty disk, or not the "
    "folder that was meant"
)
_SNIFFED_BYTES = 1024 * 1024
_PARTITION = re.compile(r".+-[0-9]+")
WITHOUT_METADATA_LOG = (
    f"partitions, and no metadata log: a broker keeps {METADATA_FOLDER} in only one of its log "
    "directories. Name that one: metadata.log.dir, else the first of log.dirs"
)
"""What is wrong with a log directory of a broker with several disks, and what to do."""


def holds_partitions(folder: str) -> bool:
    """Whether a folder holds folders of partitions, such as orders-0, as a broker's log directory
    does. False if it can't be listed."""
    try:
        names = os.listdir(folder)
    except OSError:
        return False
    paths = (os.path.join(folder, name) for name in names if _PARTITION.fullmatch(name))
    return any(os.path.exists(os.path.join(one, partition_metadata.FILE_NAME)) for one in paths)


@dataclass(frozen=True, slots=True)
class DirectoryPath:
    """A metadata directory."""

    path: str
    """The path to open."""
    shown: str
    """The path as the user would write it."""
    is_whole: bool = True
    """False for a folder made of single files, for which absent files are not reported."""
    is_cut: bool = False
    """Whether files of the node, or ends of files, may be missing, because the directory comes from
    an incomplete archive or capture."""
    is_formatted: bool = False
    """Whether the folder doesn't exist, because the log directory has no metadata log
    (replica.format.formatted)."""
    has_partitions: bool = False
    """Whether the log directory has no metadata log and holds partitions: its broker keeps the
    metadata log in another of its log directories."""

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

    @property
    def is_fragment(self) -> bool:
        """Whether the capture.json in the node's log directory says that this is a fragment."""
        beside = os.path.join(os.path.dirname(os.path.abspath(self.path)), capture.FILE_NAME)
        try:
            return capture.decode(read_own_file(beside, MAX_STATE_BYTES)).is_fragment
        except (DataError, UnreadableFileError):
            return False

    def read(
        self,
        read: ReadFile = own_source,
        scan: segment.ScanLog = segment.scan,
        *,
        hashed: bool = True,
    ) -> MetadataDirectory:
        """The directory's content, as read_directory gives it, with `is_fragment` set. Raises the
        errors of read_directory."""
        directory = read_directory(self.path, read=read, scan=scan, hashed=hashed)
        return replace(directory, is_fragment=self.is_fragment)


@dataclass(frozen=True, slots=True)
class FilePath:
    """A single file that the user named."""

    path: str
    shown: str
    name: FileName


DiscoveredPath = DirectoryPath | FilePath

OnError = Callable[[UnreadableFileError], None]
"""A function that is called for each folder that can't be listed, with the path as the user would
write it. The search continues."""


class NothingToReadError(UsageError):
    """There is no metadata directory, segment or snapshot below a path."""

    def __init__(self, path: str) -> None:
        why = (
            f"no metadata directory below it; expected a {METADATA_FOLDER} folder, a segment "
            "(.log) or a snapshot (.checkpoint)"
        )
        super().__init__(f"{path}: {WITHOUT_METADATA_LOG if holds_partitions(path) else why}")
        self.path = path

    @property
    def damage(self) -> Damage:
        """This error as a Damage, for a caller that continues with its other paths, for example if
        one path is an empty new disk."""
        return Damage(0, 0, DamageKind.NOT_KAFKA, _NOTHING, self.path)


def discover(
    paths: Iterable[str], *, on_error: OnError | None = None, skip: Collection[str] = ()
) -> tuple[DiscoveredPath, ...]:
    """All metadata directories and files at or below the paths, in the order of `paths`. The
    folders below a path are sorted by name.

    skip: folders below a path that are not searched.

    Raises UsageError for a path that doesn't exist; NothingToReadError for a path with nothing to
    read, except a recorder's empty archive; UnreadableFileError for a folder that can't be listed,
    unless `on_error` is given.
    """
    found: list[DiscoveredPath] = []
    for path in paths:
        search = _Search(frozenset(skip), on_error)
        below = list(search.run(path))
        if not below and not search.failed and not _is_archive(path):
            raise NothingToReadError(path)
        found.extend(below)
    return tuple(found)


class _Search:
    """The search below one path. failed: whether a folder could not be listed."""

    def __init__(self, skip: frozenset[str], on_error: OnError | None) -> None:
        self._on_error = on_error
        self._visited = {_identity(folder) for folder in skip}
        self.failed = False

    def run(self, path: str) -> Iterator[DiscoveredPath]:
        shown = _printable(path.rstrip("/") or "/")
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UsageError(f"{path}: no such file or directory") from error
        except OSError as error:  # a folder above it may not be searched
            self._failed_at(shown, error)
            return
        if not os.path.isdir(path):
            yield FilePath(path, _printable(path), kind_of_file(path))
            return
        if is_metadata_folder(path) or self._holds_logs(path, shown):
            yield DirectoryPath(path, shown)
        elif not self.failed:
            yield from self._below(path, shown)

    def _below(self, path: str, shown: str) -> Iterator[DiscoveredPath]:
        self._visited.add(_identity(path))
        pending = self._folders(path, shown)
        while pending:
            folder, label = pending.pop()
            identity = _identity(folder)
            if identity in self._visited:  # a symbolic link leads back into the tree
                continue
            self._visited.add(identity)
            if is_metadata_folder(folder):
                yield DirectoryPath(folder, label)
            else:
                pending.extend(self._folders(folder, label))

    def _folders(self, path: str, shown: str) -> list[tuple[str, str]]:
        """(path, path as the user would write it) of the folders in a folder, in reverse order. A
        recorder's archive beside a metadata log is left out."""
        try:
            with os.scandir(path) as entries:
                names = [entry.name for entry in entries if _is_folder(entry)]
        except OSError as error:
            self._failed_at(shown, error)
            return []
        if METADATA_FOLDER in names and ARCHIVE_FOLDER in names:
            names.remove(ARCHIVE_FOLDER)
        names.sort(key=_numbers_first, reverse=True)
        return [(os.path.join(path, name), os.path.join(shown, _printable(name))) for name in names]

    def _holds_logs(self, path: str, shown: str) -> bool:
        try:
            kinds = {classify(name).kind for name in os.listdir(path)}
            return bool(kinds & {FileKind.SEGMENT, FileKind.SNAPSHOT})
        except OSError as error:
            self._failed_at(shown, error)
            return False

    def _failed_at(self, shown: str, error: OSError) -> None:
        unreadable = UnreadableFileError(shown, error.strerror or str(error))
        if self._on_error is None:
            raise unreadable from error
        self._on_error(unreadable)
        self.failed = True


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link whose target may not be read
        return False


def _identity(path: str) -> tuple[int, int] | str:
    """The identity of a folder, equal for all its paths; the path itself if it can't be looked
    up."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return status.st_dev, status.st_ino


def _numbers_first(name: str) -> tuple[bool, int, str]:
    is_number = name.isdigit()
    return not is_number, len(name) * is_number, name


def _printable(name: str) -> str:
    """A name for tables and terminals. Bytes that are not UTF-8 become \\xNN."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _is_archive(path: str) -> bool:
    folder, name = os.path.split(os.path.abspath(path))
    return name == ARCHIVE_FOLDER and os.path.isdir(os.path.join(folder, METADATA_FOLDER))


def kind_of_file(path: str) -> FileName:
    """The kind of a file by its name. A file with an unknown name is taken for a segment if the
    name ends with .log or .checkpoint, or if the file starts with a whole batch."""
    by_name = classify(os.path.basename(path))
    if by_name.kind is not FileKind.OTHER:
        return by_name
    if path.endswith((".log", ".checkpoint")) or _starts_with_batch(path):
        return FileName(FileKind.SEGMENT)
    return by_name


def _starts_with_batch(path: str) -> bool:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            data = file.read(_SNIFFED_BYTES)
        header = decode_header(data)
    except (OSError, DataError):
        return False
    whole = memoryview(data)[: header.size_bytes]
    return len(whole) == header.size_bytes >= HEADER.size and computed_crc(whole) == header.crc
