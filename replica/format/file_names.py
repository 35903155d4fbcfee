"""Names in a metadata directory: its own name, and the kinds of its files by their names."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum

from replica.format import (
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    quorum_properties,
    quorum_state,
    snapshot,
)
from replica.format.snapshot import SnapshotName

METADATA_FOLDER = "__cluster_metadata-0"
ARCHIVE_FOLDER = "archive"
"""The folder beside a recorder's metadata folder that keeps the batches which left the log by a
truncation or for a leader's snapshot. Each such loss has one folder in it, in the form of a node's
log directory (replica.storage.archive)."""
_MAX_OFFSET = 2**63 - 1


class FileKind(StrEnum):
    """The kinds of files that kraftlake reads. It doesn't read files of the kind OTHER."""

    SEGMENT = "segment"
    OFFSET_INDEX = "offset-index"
    TIME_INDEX = "time-index"
    PRODUCER_SNAPSHOT = "producer-snapshot"
    SNAPSHOT = "snapshot"
    BOOTSTRAP = "bootstrap"
    LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
    QUORUM_STATE = "quorum-state"
    META_PROPERTIES = "meta-properties"
    PARTITION_METADATA = "partition-metadata"
    QUORUM_PROPERTIES = "quorum-properties"
    OTHER = "other"


LOG_KINDS = (FileKind.SEGMENT, FileKind.SNAPSHOT, FileKind.BOOTSTRAP)
"""Kinds of files that hold batches of records."""
INDEX_KINDS = (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX)


@dataclass(frozen=True, slots=True)
class FileName:
    """The parts of a file's name."""

    kind: FileKind
    base_offset: int | None = None
    """The offset in the names of segments and of the files beside them; None in other names."""
    deleted: bool = False
    snapshot: SnapshotName | None = None


_NUMBERED = re.compile(
    r"(?P<offset>[0-9]{20})\.(?P<kind>log|index|timeindex|snapshot)(?P<deleted>\.deleted)?"
)
_NUMBERED_KINDS = {
    "log": FileKind.SEGMENT,
    "index": FileKind.OFFSET_INDEX,
    "timeindex": FileKind.TIME_INDEX,
    "snapshot": FileKind.PRODUCER_SNAPSHOT,
}
_SUFFIXES = {kind: suffix for suffix, kind in _NUMBERED_KINDS.items()}
_FIXED_NAMES = {
    leader_epoch_checkpoint.FILE_NAME: FileKind.LEADER_EPOCH_CHECKPOINT,
    quorum_state.FILE_NAME: FileKind.QUORUM_STATE,
    meta_properties.FILE_NAME: FileKind.META_PROPERTIES,
    partition_metadata.FILE_NAME: FileKind.PARTITION_METADATA,
    quorum_properties.FILE_NAME: FileKind.QUORUM_PROPERTIES,
    snapshot.BOOTSTRAP_NAME: FileKind.BOOTSTRAP,
}


def segment_file_name(base_offset: int, kind: FileKind) -> str:
    """The name of a segment or of a file beside it, the inverse of classify."""
    return f"{base_offset:020d}.{_SUFFIXES[kind]}"


def classify(name: str) -> FileName:
    """The kind of a file by its name without folder; FileKind.OTHER for an unknown name."""
    if name in _FIXED_NAMES:
        return FileName(_FIXED_NAMES[name])
    snapshot_name = snapshot.parse_name(name)
    if snapshot_name is not None:
        deleted = snapshot_name.state is snapshot.SnapshotState.DELETED
        return FileName(FileKind.SNAPSHOT, deleted=deleted, snapshot=snapshot_name)
    match = _NUMBERED.fullmatch(name)
    if match is None or int(match["offset"]) > _MAX_OFFSET:
        return FileName(FileKind.OTHER)
    kind = _NUMBERED_KINDS[match["kind"]]
    return FileName(kind, int(match["offset"]), deleted=match["deleted"] is not None)


def is_metadata_folder(path: str) -> bool:
    """Whether a folder is a metadata directory, by its name or its files."""
    named = os.path.basename(os.path.abspath(path)) == METADATA_FOLDER
    return named or os.path.lexists(os.path.join(path, quorum_state.FILE_NAME))
