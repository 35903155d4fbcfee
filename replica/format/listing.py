"""The files of a metadata directory, in the order in which they have to be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from replica.errors import UnreadableFileError, UsageError, reading
from replica.format import (
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_properties,
    quorum_state,
    snapshot,
)
from replica.format.file_names import LOG_KINDS, FileKind, FileName, classify
from replica.format.reading import MAX_LOG_BYTES, MAX_STATE_BYTES

_READ_LAST = (leader_epoch_checkpoint.FILE_NAME, quorum_state.FILE_NAME)
"""The files that are read after the logs. If leader-epoch-checkpoint was different before, the logs
have changed meanwhile. quorum-state comes after the log because a replica proves commitment only if
it has not voted in a newer epoch when its log is read (replica.history.commitment)."""
_BESIDE = (meta_properties.FILE_NAME, snapshot.BOOTSTRAP_NAME, quorum_properties.FILE_NAME)


def check_folder(path: str) -> None:
    """Raises UsageError if `path` isn't a folder, UnreadableFileError if this can't be found
    out."""
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except FileNotFoundError:
        is_folder = False
    except OSError as error:
        raise UnreadableFileError(path, error.strerror or str(error)) from error
    if not is_folder:
        raise UsageError(f"{path}: not a directory")


def listing(path: str, parent: str) -> list[tuple[str, str]]:
    """(path relative to the node's log directory, path to open) of every file of a known kind.

    parent: the folder with the node's own files (_BESIDE), which may also be in `path`. Raises
        UnreadableFileError if the folder can't be listed.
    """
    return sorted(_listed(path, parent), key=lambda listed: _turn(listed[0]))


def _turn(relative: str) -> int:
    name = os.path.basename(relative)
    return _READ_LAST.index(name) + 1 if name in _READ_LAST else 0


def _listed(path: str, parent: str) -> Iterator[tuple[str, str]]:
    folder = os.path.basename(os.path.abspath(path))
    for name in _names(path):
        if classify(name).kind is not FileKind.OTHER:
            yield f"{folder}/{name}", os.path.join(path, name)
    draft = os.path.join(path, snapshot.DRAFT_FOLDER)
    if os.path.isdir(draft):
        for name in _names(draft):
            if classify(name).kind is FileKind.SNAPSHOT:
                yield f"{folder}/{snapshot.DRAFT_FOLDER}/{name}", os.path.join(draft, name)
    for name in _BESIDE:
        beside = os.path.join(parent, name)
        if os.path.lexists(beside) and not os.path.lexists(os.path.join(path, name)):
            yield name, beside


def _names(path: str) -> list[str]:
    with reading(path):
        return sorted(os.listdir(path))


INDEX_DECODERS: dict[FileKind, Callable[[bytes], index.OffsetIndex | index.TimeIndex]] = {
    FileKind.OFFSET_INDEX: index.decode_offset_index,
    FileKind.TIME_INDEX: index.decode_time_index,
}
STATE_DECODERS: dict[FileKind, Callable[[bytes], object]] = {
    FileKind.META_PROPERTIES: meta_properties.decode,
    FileKind.QUORUM_STATE: quorum_state.decode,
    FileKind.LEADER_EPOCH_CHECKPOINT: leader_epoch_checkpoint.decode,
    FileKind.PARTITION_METADATA: partition_metadata.decode,
    FileKind.PRODUCER_SNAPSHOT: producer_snapshot.decode,
    FileKind.QUORUM_PROPERTIES: quorum_properties.decode,
}


def size_limit(name: FileName) -> int:
    """The largest file of this kind that is read, in bytes."""
    return MAX_LOG_BYTES if name.kind in LOG_KINDS else MAX_STATE_BYTES
