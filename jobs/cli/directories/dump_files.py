"""The files that `dump` reads from the user's paths, in order, with their partitions. A line names
each partition that is no metadata log. This module also gives the small files of a log directory as
plain values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any

from jobs.cli.directories.discovering import discovered_each, unreadable
from jobs.cli.output import complain
from replica.doctor.check.partition import PartitionFolder, partition_at, partition_of_file
from replica.errors import UnreadableFileError, reading
from replica.format import (
    index,
    leader_epoch_checkpoint,
    meta_properties,
    partition_metadata,
    producer_snapshot,
    quorum_properties,
    quorum_state,
)
from replica.format.damage import Damage
from replica.format.discovery import DirectoryPath, FilePath
from replica.format.file_names import LOG_KINDS, FileKind, FileName, classify
from replica.format.snapshot import BOOTSTRAP_NAME, DRAFT_FOLDER, SnapshotState
from replica.metadata.redact import Redactor


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file to dump."""

    path: str
    """The path at which the file is read."""
    shown: str
    """The user's name for the file."""
    name: FileName
    log_folder: str | None = None
    """The folder of the log to which the file belongs; None for a file that was named on its
    own."""


@dataclass(frozen=True, slots=True)
class WantedFiles:
    """The kinds of files of a directory that are read. A file that the user names
    is always read."""

    logs: bool = True
    snapshots: bool = True
    all_files: bool = False


@dataclass(frozen=True, slots=True)
class DumpFiles:
    """The files, and the damages of bundles and folders that can't be read."""

    files: tuple[DumpFile, ...]
    damages: tuple[Damage, ...]


def find_files(paths: Iterable[str], wanted: WantedFiles, stack: ExitStack) -> DumpFiles:
    """Every file to read. Bundles stay unpacked until `stack` closes.

    Raises UsageError where a path doesn't exist, or no path has anything to read below it.
    """
    files: list[DumpFile] = []
    damages: list[Damage] = []
    for _, below in discovered_each(paths, stack):
        damages.extend(below.damages)
        for one in below.paths:
            if isinstance(one, FilePath):
                files.append(DumpFile(one.path, one.shown, one.name))
                continue
            try:
                files.extend(_of_directory(one, wanted))
            except UnreadableFileError as error:
                damages.append(unreadable(one.shown, error.reason))
    return DumpFiles(tuple(files), tuple(damages))


def _of_directory(found: DirectoryPath, wanted: WantedFiles) -> list[DumpFile]:
    files = [file for file in sorted(_listed(found), key=_order) if _is_wanted(file, wanted)]
    if not files:
        complain(f"{found.shown}: nothing to dump in it")
    return files


def _is_wanted(file: DumpFile, wanted: WantedFiles) -> bool:
    is_extra = file.name.deleted or file.name.kind is FileKind.BOOTSTRAP
    if file.name.snapshot is not None:
        is_extra = file.name.snapshot.state is not SnapshotState.COMPLETE
    is_log = file.name.kind is FileKind.SEGMENT
    return (wanted.logs if is_log else wanted.snapshots) and (wanted.all_files or not is_extra)


def _listed(found: DirectoryPath) -> Iterator[DumpFile]:
    folder = os.path.basename(os.path.abspath(found.path))
    for name in _names(found.path):
        kind = classify(name)
        if kind.kind in LOG_KINDS:
            path = os.path.join(found.path, name)
            yield DumpFile(path, found.shown_file(f"{folder}/{name}"), kind, found.path)
    drafts = os.path.join(found.path, DRAFT_FOLDER)
    for name in _names(drafts) if os.path.isdir(drafts) else ():
        kind = classify(name)
        if kind.kind is FileKind.SNAPSHOT:
            shown = found.shown_file(f"{folder}/{DRAFT_FOLDER}/{name}")
            yield DumpFile(os.path.join(drafts, name), shown, kind, found.path)
    beside = os.path.join(os.path.dirname(os.path.abspath(found.path)), BOOTSTRAP_NAME)
    if os.path.isfile(beside):
        shown = found.shown_file(BOOTSTRAP_NAME)
        yield DumpFile(beside, shown, classify(BOOTSTRAP_NAME), found.path)


def _order(file: DumpFile) -> tuple[int, int, int, bool, str]:
    """The sort key of a file: segments by offset, then snapshots by id, then the bootstrap
    snapshot."""
    snapshot = file.name.snapshot
    if snapshot is not None:
        return (1, snapshot.id.offset, snapshot.id.epoch, file.name.deleted, file.path)
    if file.name.kind is FileKind.BOOTSTRAP:
        return (2, 0, 0, False, file.path)
    return (0, file.name.base_offset or 0, 0, file.name.deleted, file.path)


def _names(folder: str) -> list[str]:
    with reading(folder):
        return os.listdir(folder)


@dataclass
class DumpPartitions:
    """Knows the partition of each file, and names on stderr each partition that is no metadata
    log."""

    tell: Callable[[str], None]
    """Prints a line on stderr."""
    redactor: Redactor | None
    """Hides what may be secret; None hides nothing."""
    _known: dict[str, PartitionFolder] = field(default_factory=dict)

    def of(self, file: DumpFile) -> PartitionFolder:
        """The partition of a segment or snapshot. The first time that a partition which is no
        metadata log is met, `tell` gets a line about it."""
        folder = file.log_folder
        place = file.path if folder is None else folder
        known = self._known.get(place)
        if known is None:
            known = partition_of_file(place) if folder is None else partition_at(folder)
            self._known[place] = known
            if not known.is_metadata:
                shown = file.shown if folder is None else os.path.dirname(file.shown)
                how = "hidden, --keep-secrets shows them"
                if self.hiding(known) is None:
                    how = "printed as they are"
                self.tell(f"{shown}: {known.what}: its records are {how}")
        return known

    def hiding(self, partition: PartitionFolder) -> Redactor | None:
        """The redactor for the records of a partition that is no metadata log; None where they are
        printed as they are. A partition without name and topic id may be a metadata log that this
        release can't read, with secrets in it."""
        return None if partition.is_proven else self.redactor


READERS: dict[FileKind, Callable[[bytes], Any]] = {
    FileKind.QUORUM_STATE: lambda data: dict(quorum_state.decode(data).fields),
    FileKind.LEADER_EPOCH_CHECKPOINT: lambda data: _rows(leader_epoch_checkpoint.decode(data)),
    FileKind.META_PROPERTIES: lambda data: dict(meta_properties.decode(data).properties),
    FileKind.PARTITION_METADATA: lambda data: {"topic_id": partition_metadata.decode(data)},
    FileKind.OFFSET_INDEX: lambda data: asdict(index.decode_offset_index(data)),
    FileKind.TIME_INDEX: lambda data: asdict(index.decode_time_index(data)),
    FileKind.PRODUCER_SNAPSHOT: lambda data: _rows(producer_snapshot.decode(data)),
    FileKind.QUORUM_PROPERTIES: lambda data: {
        "controller.quorum.voters": _rows(quorum_properties.decode(data))
    },
}
"""By kind of file, the function that gives the content of such a file as JSON values, with Kafka's
names where the file has names. The functions raise DataError, which names the byte."""


def _rows(values: Iterable[Any]) -> list[dict[str, Any]]:
    return [asdict(one) for one in values]
