"""Finds which partition a folder on disk holds. This reads only names and the first records."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from replica.check.partition import PartitionFolder, PartitionKind, partition_named, values_of
from replica.errors import DataError, UnreadableFileError
from replica.format import partition_metadata, quorum_state
from replica.format.byte_source import OpenFile, ShrankError
from replica.format.content import FileContent
from replica.format.file_names import FileKind, classify
from replica.format.reading import (
    MAX_LOG_BYTES,
    MAX_STATE_BYTES,
    open_file,
    open_own_file,
    read_own_file,
)
from replica.format.segment import scan

LOOKED_AT_BYTES = 1024 * 1024
"""The most bytes that are read of each segment or snapshot, until enough records were seen."""
_LOGS = (FileKind.SEGMENT, FileKind.SNAPSHOT)


def partition_at(folder: str) -> PartitionFolder:
    """The partition that this folder holds, as far as its files can be read."""
    return _partition(folder, None)


def partition_of_file(path: str) -> PartitionFolder:
    """The partition of a file that was named on its own, by its folder and its records."""
    return _partition(os.path.dirname(os.path.abspath(path)), path)


def _partition(folder: str, file: str | None) -> PartitionFolder:
    names = _names(folder)
    logs = sorted(name for name in names if classify(name).kind in _LOGS)
    paths = [os.path.join(folder, name) for name in logs] if file is None else [file]
    has_snapshot = any(classify(name).kind is FileKind.SNAPSHOT for name in names)
    opener = open_own_file if file is None else open_file
    kind = PartitionKind.ORDINARY if file is None else PartitionKind.UNKNOWN
    if has_snapshot or quorum_state.FILE_NAME in names:
        kind = PartitionKind.QUORUM
    values = (value for path in paths for value in _values(path, opener))
    name = os.path.basename(os.path.abspath(folder))
    return partition_named(name, topic_id_in(folder), values, lambda: kind)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def topic_id_in(folder: str) -> str | None:
    """The topic id in the folder's partition.metadata. None where no such file can be read."""
    path = os.path.join(folder, partition_metadata.FILE_NAME)
    try:
        return partition_metadata.decode(read_own_file(path, MAX_STATE_BYTES))
    except (UnreadableFileError, DataError):
        return None


def _values(path: str, opener: Callable[[str, int], OpenFile]) -> Iterator[bytes]:
    try:
        with opener(path, MAX_LOG_BYTES) as file:
            data = file.read(0, min(file.size, LOOKED_AT_BYTES))
    except (UnreadableFileError, ShrankError):
        return
    yield from values_of(scan(data).batches, FileContent(data))
