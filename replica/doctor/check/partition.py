"""Finds to which partition a directory or file belongs: a cluster's metadata log, another partition
that a quorum replicates by KRaft, or a partition of an ordinary topic. Only the records of a
metadata log are metadata records. In a folder, this module reads only names and the first records.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from typing import TypeVar

from replica.doctor.check.examined import Examined
from replica.errors import DataError, UnreadableFileError
from replica.format import partition_metadata, quorum_state
from replica.format.byte_source import OpenFile, ShrankError
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.control import UnknownControl
from replica.format.discovery import DirectoryPath, DiscoveredPath
from replica.format.file_names import METADATA_FOLDER, FileKind, classify
from replica.format.reading import (
    MAX_LOG_BYTES,
    MAX_STATE_BYTES,
    open_file,
    open_own_file,
    read_own_file,
)
from replica.format.segment import scan
from replica.format.walk import LocatedBatch
from replica.metadata.codec import decode
from replica.model.keys import METADATA_TOPIC_ID

SAMPLED_RECORDS = 64
"""The number of records at the beginning of a log that are decoded. If fewer than half of them are
metadata records, the log isn't a metadata log."""
_Directory = TypeVar("_Directory")
_PARTITION = re.compile(r".+-[0-9]+")


class PartitionKind(Enum):
    """The kind of a partition, which decides what its records are and which rules hold for it."""

    METADATA = "metadata"
    """A cluster's metadata log."""
    QUORUM = "quorum"
    """The log of another topic that a quorum replicates by KRaft, such as that of
    kraftlake.topic.name or of Kafka's TestRaftServer."""
    ORDINARY = "ordinary"
    """The log of an ordinary topic, as brokers keep it. Nothing in it belongs to KRaft."""
    UNKNOWN = "unknown"
    """A log that isn't a metadata log. A single file doesn't show its kind."""


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """A partition, by the folder that holds its log."""

    name: str
    """The name of the folder, such as orders-0."""
    kind: PartitionKind
    key: str
    """A text that all replicas of one partition share."""
    is_proven: bool = True
    """Whether the name or the topic id shows the topic. It is False if only the records show it,
    which could also be metadata records that this release can't read."""

    @property
    def is_metadata(self) -> bool:
        """Whether the records are metadata records."""
        return self.kind is PartitionKind.METADATA

    @property
    def is_of_a_quorum(self) -> bool:
        """Whether a quorum replicates the partition, so that the rules of KRaft hold for it."""
        return self.kind in (PartitionKind.METADATA, PartitionKind.QUORUM)

    @property
    def is_ordinary(self) -> bool:
        """Whether the partition is known to belong to an ordinary topic, from which compaction may
        remove records."""
        return self.kind is PartitionKind.ORDINARY

    @property
    def shown(self) -> str:
        """The name of the partition for messages. For a metadata log it is always the same,
        whatever the name of its folder is."""
        return METADATA_FOLDER if self.is_metadata else self.name

    @property
    def what(self) -> str:
        """The beginning of a sentence about a partition without a metadata log."""
        subject = f"partition {self.name}" if _PARTITION.fullmatch(self.name) else "this partition"
        if self.kind is PartitionKind.ORDINARY:
            return f"{subject} is of an ordinary topic"
        return f"{subject} is no metadata log"


def partition_of(examined: Examined) -> PartitionFolder:
    """The partition to which the examined directory or file belongs."""
    directory = examined.directory
    values = (
        value
        for file in examined.logs
        # not all bytes of known batches may be here (replica.format.known_file)
        for value in values_of(file.scan.new_batches, examined.content_of(file))
    )
    return partition_named(
        folder_of(examined.location), directory.topic_id, values, partial(_other_kind, examined)
    )


def _other_kind(examined: Examined) -> PartitionKind:
    """The kind of a directory or file without a metadata log."""
    if examined.is_directory and not examined.lacks(FileKind.QUORUM_STATE):
        return PartitionKind.QUORUM
    for file in examined.logs:
        # The control records of an ordinary topic, markers of transactions, are UnknownControl.
        for _, _, message in examined.control_records(file):
            if not isinstance(message, UnknownControl):
                return PartitionKind.QUORUM
    return PartitionKind.ORDINARY if examined.is_directory else PartitionKind.UNKNOWN


def partition_named(
    folder: str, topic_id: str | None, values: Iterable[bytes], other: Callable[[], PartitionKind]
) -> PartitionFolder:
    """The partition of a folder of this name.

    topic_id: the topic id in partition.metadata; None where it is unknown. values: the values of
    the partition's data records, in order; they are decoded only if neither name nor id decides.
    other: a function that gives the kind of a partition that isn't a metadata log.
    """
    has_other_id = topic_id not in (None, METADATA_TOPIC_ID)
    is_metadata = folder == METADATA_FOLDER or not (has_other_id or _are_foreign(values))
    if is_metadata:
        return PartitionFolder(folder, PartitionKind.METADATA, METADATA_TOPIC_ID)
    is_proven = has_other_id or (topic_id is None and _PARTITION.fullmatch(folder) is not None)
    return PartitionFolder(
        folder, other(), topic_id if has_other_id and topic_id else folder, is_proven
    )


def by_partition(
    group: Iterable[_Directory], of: Callable[[_Directory], PartitionFolder]
) -> list[list[_Directory]]:
    """The directories that hold a partition which a quorum replicates: a list for each partition,
    in the order of the group. of: a function that gives the partition of a directory."""
    parts: dict[str, list[_Directory]] = {}
    for one in group:
        partition = of(one)
        if partition.is_of_a_quorum:
            parts.setdefault(partition.key, []).append(one)
    return list(parts.values())


def folder_of(location: DiscoveredPath) -> str:
    """The name of the folder that was found, or of the folder that holds the file that was
    found."""
    path = os.path.abspath(location.path)
    return os.path.basename(path if isinstance(location, DirectoryPath) else os.path.dirname(path))


def values_of(batches: Iterable[LocatedBatch], content: FileContent) -> Iterator[bytes]:
    """The values of the data records in valid batches. content: the bytes of the file with these
    batches."""
    inflation = Inflation(content.size)
    for batch in batches:
        if batch.crc_valid and not batch.header.is_control:
            for record in content.whole_records(batch, inflation):
                yield record.value or b""


def _are_foreign(values: Iterable[bytes]) -> bool:
    """Whether most of the first records aren't metadata records."""
    readable = [_is_metadata(value) for value in islice(values, SAMPLED_RECORDS)]
    return sum(readable) * 2 < len(readable)


def _is_metadata(value: bytes) -> bool:
    try:
        decode(value)
    except DataError:
        return False
    return True


SAMPLED_BYTES = 1024 * 1024
"""The most bytes that are read from each segment or snapshot to find enough records."""
_LOGS = (FileKind.SEGMENT, FileKind.SNAPSHOT)


def partition_at(folder: str) -> PartitionFolder:
    """The partition that this folder holds, as far as its files can be read."""
    return _partition(folder, None)


def partition_of_file(path: str) -> PartitionFolder:
    """The partition of a file that the user named, by its folder and its records."""
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
    """The topic id in the folder's partition.metadata. None if this file can't be read."""
    path = os.path.join(folder, partition_metadata.FILE_NAME)
    try:
        return partition_metadata.decode(read_own_file(path, MAX_STATE_BYTES))
    except (UnreadableFileError, DataError):
        return None


def _values(path: str, opener: Callable[[str, int], OpenFile]) -> Iterator[bytes]:
    try:
        with opener(path, MAX_LOG_BYTES) as file:
            data = file.read(0, min(file.size, SAMPLED_BYTES))
    except (UnreadableFileError, ShrankError):
        return
    yield from values_of(scan(data).batches, FileContent(data))
