"""Finds log directories that were formatted and hold no metadata log: of nodes that never started,
and the other log directories of brokers with several disks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from replica.errors import DataError, UnreadableFileError
from replica.format import meta_properties, segment
from replica.format.directory import MetadataDirectory, read_single_file
from replica.format.discovery import DirectoryPath, holds_partitions
from replica.format.file_names import METADATA_FOLDER, classify
from replica.format.reading import MAX_STATE_BYTES, ReadFile, read_own_file
from replica.model.keys import ReplicaId

_MOST_FOLDERS = 10_000
_MAX_DEPTH = 4


@dataclass(frozen=True, slots=True)
class FormattedDirectory:
    """A log directory with meta.properties and without a metadata log."""

    shown: str
    """The name of the directory for people."""
    replica: ReplicaId
    """The replica that meta.properties names."""
    is_alone: bool = False
    """Whether the path that the user named holds nothing else."""
    has_partitions: bool = False
    """Whether the directory holds partitions: its broker has started, with the metadata log in
    another log directory."""

    def as_directory(self) -> DirectoryPath:
        """The path of the metadata log that the log directory doesn't have. The caller has made
        sure that `shown` is the directory's own path."""
        below = os.path.join(self.shown, METADATA_FOLDER)
        return DirectoryPath(below, below, is_formatted=True, has_partitions=self.has_partitions)

    @property
    def meta_properties(self) -> str:
        """The path of the directory's meta.properties, as messages show it."""
        return os.path.join(self.shown, meta_properties.FILE_NAME)

    @property
    def parent(self) -> str:
        """The folder that holds the log directory."""
        return os.path.dirname(self.shown)


def read_formatted(path: str, read: ReadFile) -> MetadataDirectory:
    """The content of a formatted directory: its meta.properties. path: the path of the metadata
    log, which doesn't exist. Raises UnreadableFileError."""
    own = os.path.join(os.path.dirname(os.path.abspath(path)), meta_properties.FILE_NAME)
    name = classify(meta_properties.FILE_NAME)
    return replace(read_single_file(own, name, read, segment.scan), path=path)


def formatted_below(path: str) -> Iterator[FormattedDirectory]:
    """The log directories without a metadata log, at or below a path, whose meta.properties can be
    read."""
    for folder, has_metadata_log in log_folders_below(path):
        replica = None if has_metadata_log else replica_in(folder)
        if replica is not None:
            yield FormattedDirectory(folder, replica, has_partitions=holds_partitions(folder))


def log_folders_below(path: str) -> Iterator[tuple[str, bool]]:
    """(folder, whether it holds a metadata log) for each log directory at or below a path. A folder
    with meta.properties or a metadata log is a log directory. It isn't searched further, because a
    broker has thousands of partitions in it."""
    pending, seen = [(path.rstrip("/") or "/", 0)], 0
    while pending and seen < _MOST_FOLDERS:
        folder, depth = pending.pop()
        seen += 1
        try:
            names = sorted(os.listdir(folder))
        except OSError:  # the search for metadata directories reports it
            continue
        if meta_properties.FILE_NAME in names or METADATA_FOLDER in names:
            yield folder, METADATA_FOLDER in names
        elif depth < _MAX_DEPTH:
            below = (os.path.join(folder, name) for name in reversed(names))
            pending += [
                (one, depth + 1) for one in below if os.path.isdir(one) and not os.path.islink(one)
            ]


def replica_in(folder: str) -> ReplicaId | None:
    """The replica that a log directory's meta.properties names; None if the file names none, or
    can't be read."""
    path = os.path.join(folder, meta_properties.FILE_NAME)
    try:
        return meta_properties.decode(read_own_file(path, MAX_STATE_BYTES)).replica
    except (DataError, UnreadableFileError):
        return None
