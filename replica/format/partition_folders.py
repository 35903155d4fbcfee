"""A broker's log directory: the folders of its partitions (Kafka: LogManager, UnifiedLog).

Reading lists the folders, and reads the topic ids in partition.metadata. It opens no segment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from replica.errors import DataError, UnreadableFileError
from replica.format import partition_metadata
from replica.format.file_names import METADATA_FOLDER
from replica.format.formatted import log_folders_below, replica_in
from replica.format.reading import MAX_STATE_BYTES, read_own_file
from replica.model.keys import ReplicaId

_INT32 = range(-(2**31), 2**31)
_NO_PARTITIONS = frozenset({METADATA_FOLDER, "remote-log-index-cache"})
"""Folders that Kafka ignores."""
_SEGMENT = ".log"
_OF_BROKERS = ("-offset-checkpoint", ".kafka_cleanshutdown")
"""The endings of the files that a broker keeps in each log directory."""


class FolderState(StrEnum):
    """The role of a partition's folder in Kafka. The value is the suffix of its name."""

    CURRENT = ""
    """The partition's log."""
    FUTURE = "-future"
    """A copy that will replace the log in another directory (KIP-113)."""
    DELETED = "-delete"
    """A log that the broker deletes when it runs."""
    STRAY = "-stray"
    """A log that the broker has put aside, because the metadata doesn't assign it (KAFKA-14616)."""


@dataclass(frozen=True, slots=True)
class PartitionFolder:
    """The folder of a partition."""

    path: str
    """The folder as the user would write it."""
    topic: str
    """The topic's name, from the name of the folder."""
    partition: int
    state: FolderState
    topic_id: str | None
    """The topic id in partition.metadata; None if this file is missing or can't be read."""
    size_bytes: int
    """The size of the partition's segments, in bytes: see _size_of."""


@dataclass(frozen=True, slots=True)
class BrokerLogDirectory:
    """A log directory of a node."""

    shown: str
    """The directory as the user would write it."""
    replica: ReplicaId
    """The replica that the directory's meta.properties names."""
    folders: tuple[PartitionFolder, ...]
    """The folders of partitions, sorted by name, without the metadata log."""
    foreign: tuple[str, ...]
    """Folders whose names aren't names of partitions, as the user would write them."""
    is_metadata_alone: bool = False
    """Whether the directory holds the metadata log and nothing else of a broker."""


def log_directories_below(path: str) -> Iterator[BrokerLogDirectory]:
    """The log directories, at a path or below it, that have a readable meta.properties."""
    for folder, _ in log_folders_below(path):
        replica = replica_in(folder)
        if replica is not None:
            yield _directory(folder, replica)


def _directory(shown: str, replica: ReplicaId) -> BrokerLogDirectory:
    found: list[PartitionFolder] = []
    foreign: list[str] = []
    names = sorted(os.listdir(shown))
    for name in names:
        path = os.path.join(shown, name)
        if name in _NO_PARTITIONS or not os.path.isdir(path):
            continue
        parsed = partition_of_folder(name)
        if parsed is None:
            foreign.append(path)
        else:
            found.append(PartitionFolder(path, *parsed, _topic_id_in(path), _size_of(path)))
    of_broker = found or any(name.endswith(_OF_BROKERS) for name in names)
    is_alone = METADATA_FOLDER in names and not of_broker
    return BrokerLogDirectory(shown, replica, tuple(found), tuple(foreign), is_alone)


def partition_of_folder(name: str) -> tuple[str, int, FolderState] | None:
    """(topic, partition, state) by the name of a folder; None for a name that isn't a partition's,
    with which Kafka doesn't start (Kafka: LocalLog.parseTopicPartitionName)."""
    for state in (FolderState.DELETED, FolderState.FUTURE, FolderState.STRAY):
        if name.endswith(state):
            if not re.match(rf"\S+-\S+\.\S+{state}", name):
                return None
            name = name[: name.rindex(".")]
            break
    else:
        state = FolderState.CURRENT
    topic, _, number = name.rpartition("-")
    if not topic or not re.fullmatch(r"[+-]?[0-9]+", number) or int(number) not in _INT32:
        return None
    return topic, int(number), state


def folders_beside(metadata_folder: str) -> Iterator[tuple[str, int, FolderState]]:
    """(topic, partition, state) of each folder of a partition beside a metadata log, sorted. Only
    names are listed."""
    for name in sorted(os.listdir(os.path.dirname(os.path.abspath(metadata_folder)))):
        parsed = None if name in _NO_PARTITIONS else partition_of_folder(name)
        if parsed is not None:
            yield parsed


def _topic_id_in(folder: str) -> str | None:
    path = os.path.join(folder, partition_metadata.FILE_NAME)
    try:
        return partition_metadata.decode(read_own_file(path, MAX_STATE_BYTES))
    except (DataError, UnreadableFileError):
        return None


def _size_of(folder: str) -> int:
    """The size of the segments in a folder in bytes, as kafka-log-dirs counts it. The indexes say
    nothing about the data: a broker allocates 10 MiB for each index of the newest segment. Segments
    whose size can't be read are left out."""
    found = 0
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SEGMENT) and entry.is_file(follow_symlinks=False):
                    found += entry.stat(follow_symlinks=False).st_size
    except OSError:  # a running broker deletes segments meanwhile
        pass
    return found
