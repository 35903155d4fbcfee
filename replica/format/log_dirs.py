"""Reads the folders in a node's log.dirs and metadata.log.dir, and finds whether the node can use
them (Kafka: MetaPropertiesEnsemble.Loader)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from replica.errors import DataError, UnreadableFileError
from replica.format import meta_properties
from replica.format.file_names import METADATA_FOLDER
from replica.format.meta_properties import MetaProperties
from replica.format.reading import MAX_STATE_BYTES, read_own_file

_CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
"""Files that a broker makes at its start in each log directory (Kafka: CheckpointFile)."""


class LogDirState(StrEnum):
    """The state of a log directory."""

    READY = "ready"
    """A folder with a meta.properties that can be decoded."""
    MISSING = "missing"
    """The directory's path doesn't exist."""
    UNFORMATTED = "unformatted"
    """A folder without meta.properties."""
    UNUSABLE = "unusable"
    """Not a folder, or a folder whose meta.properties can't be read or decoded."""
    NOT_GIVEN = "not given"
    """The directory is on the node's own machine, and the user gave no copy of it."""


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a node."""

    path: str
    """The path in the node's settings."""
    shown: str
    """The path at which the directory was read."""
    state: LogDirState
    meta: MetaProperties | None = None
    """The directory's meta.properties; None if the state is not READY."""
    reason: str = ""
    """Why the directory is unusable; "" if the state is not UNUSABLE."""
    has_metadata_log: bool = False
    """Whether the directory has a __cluster_metadata-0."""
    has_broken_place: bool = False
    """Whether __cluster_metadata-0 exists, and is not a folder."""
    not_writable: str = ""
    """The first path to which this process may not write: the directory, the folder of its metadata
    log, or a file in it; "" if it may write to all. A node's own user may have other permissions.
    """
    missing_checkpoint: str = ""
    """The first missing file of the files that a broker makes in the directory; "" if none is
    missing."""

    @property
    def is_named(self) -> bool:
        """Whether the meta.properties of the log directory names a cluster and a node."""
        return self.meta is not None and self.meta.replica is not None

    @property
    def meta_properties(self) -> str:
        """The path of the directory's meta.properties, as messages show it."""
        return os.path.join(self.shown, meta_properties.FILE_NAME)


def read_log_dir(path: str, shown: str) -> LogDir:
    """The log directory at `shown`, a copy of the directory at `path` in the node's settings."""
    if "\0" in shown:
        return LogDir(path, shown, LogDirState.UNUSABLE, reason="its name has a zero byte")
    if not os.path.lexists(shown):
        return LogDir(path, shown, LogDirState.MISSING)
    if not os.path.isdir(shown):
        return LogDir(path, shown, LogDirState.UNUSABLE, reason="it is no folder")
    place = os.path.join(shown, METADATA_FOLDER)
    state, meta, reason = _meta_in(os.path.join(shown, meta_properties.FILE_NAME))
    return LogDir(
        path,
        shown,
        state,
        meta,
        reason,
        has_metadata_log=os.path.lexists(place),
        has_broken_place=os.path.lexists(place) and not os.path.isdir(place),
        not_writable=next(_not_writable(shown, place), ""),
        missing_checkpoint=next(
            (one for one in _CHECKPOINTS if not os.path.lexists(os.path.join(shown, one))), ""
        ),
    )


def _not_writable(folder: str, place: str) -> Iterator[str]:
    """The paths to which this process may not write. Kafka opens each segment and state file for
    writing, and a snapshot only for reading."""
    for path in (folder, place):
        if os.path.isdir(path) and not os.access(path, os.W_OK | os.X_OK):
            yield path
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    for name in names:
        path = os.path.join(place, name)
        is_file = os.path.isfile(path) and not name.endswith(".checkpoint")
        if is_file and not os.access(path, os.W_OK):
            yield path


def _meta_in(path: str) -> tuple[LogDirState, MetaProperties | None, str]:
    if not os.path.lexists(path):
        return LogDirState.UNFORMATTED, None, ""
    try:
        return LogDirState.READY, meta_properties.decode(read_own_file(path, MAX_STATE_BYTES)), ""
    except (DataError, UnreadableFileError) as error:
        return LogDirState.UNUSABLE, None, f"its meta.properties: {error.reason}"
