"""What lies in the folders that a node's log.dirs and metadata.log.dir name, and whether the node
can use them (Kafka: MetaPropertiesEnsemble.Loader)."""

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
    """What a log directory is."""

    READY = "ready"
    """It has a meta.properties that decodes."""
    MISSING = "missing"
    """Nothing lies at its path."""
    UNFORMATTED = "unformatted"
    """A folder without meta.properties."""
    UNUSABLE = "unusable"
    """No folder, or a meta.properties that can't be read or decoded."""
    NOT_GIVEN = "not given"
    """It lies on the node's own machine, and nothing was given that stands for it."""


@dataclass(frozen=True, slots=True)
class LogDir:
    """A log directory of a node."""

    path: str
    """The path in the node's settings."""
    shown: str
    """The path at which it was read."""
    state: LogDirState
    meta: MetaProperties | None = None
    """None where the state is not READY."""
    reason: str = ""
    """Why it is unusable."""
    has_metadata_log: bool = False
    """Whether a __cluster_metadata-0 lies in it."""
    has_broken_place: bool = False
    """Whether this __cluster_metadata-0 is no folder."""
    not_writable: str = ""
    """The directory, the folder of its metadata log, or a file there, where this process may not
    write; "" where it may. A node's own user may differ."""
    missing_checkpoint: str = ""
    """The first of the files that a broker makes in it, if it is not there; "" where all are."""

    @property
    def is_named(self) -> bool:
        """Whether the meta.properties of the log directory names a cluster and a node."""
        return self.meta is not None and self.meta.replica is not None

    @property
    def meta_properties(self) -> str:
        """The name of its meta.properties for people."""
        return os.path.join(self.shown, meta_properties.FILE_NAME)


def read_log_dir(path: str, shown: str) -> LogDir:
    """The log directory at `shown`, which stands for `path` in the node's settings."""
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
    """Kafka opens each segment and state file to write, and a snapshot only to read."""
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
