"""Keeps the batches that a log drops at a truncation or for a leader's snapshot, in a folder beside
the log.

    ARCHIVE/truncated-1526-1548-epoch-5/       the lost offsets (end exclusive), their newest epoch
    ARCHIVE/replaced-by-snapshot-2571-6/       the whole log, the snapshots older than this one

Each entry has the form of a node's log directory: it has the replica's meta.properties, a
capture.json with the time, and the partition's folder. The capture.json of a truncation's entry
says that the entry is a fragment of a log. The name of an entry identifies its records, because the
offset and epoch of the last record determine all records before it. After a crash the archive finds
the entry by its name and completes it, so no record is kept twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

from replica.format import capture
from replica.format.capture import CaptureInfo
from replica.format.file_names import FileKind, FileName, classify, segment_file_name
from replica.format.snapshot import SnapshotState
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ReplicaId
from replica.storage.filesystem import FileSystem, replace_durably
from replica.storage.identity import read_identity, write_identity
from replica.storage.segment_files import KINDS


@dataclass(frozen=True, slots=True)
class CutTail:
    """The end of a log that a truncation is about to remove."""

    start_offset: int
    """The first offset (inclusive)."""
    end_offset: int
    """The end offset (exclusive)."""
    epoch: int
    """The epoch of the last record."""
    pieces: Iterable[tuple[int, memoryview]]
    """(base offset of the segment, bytes of whole batches), in the order of the log."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Keeps the batches that a log drops."""

    files: FileSystem
    folder: str
    """The folder that holds the entries."""
    replica: ReplicaId
    """The owner of the log."""
    partition: str
    """The name of the partition's folder."""
    now: Callable[[], int]
    """A function that gives the time in ms since 1970 (UTC)."""
    report: Callable[[str], None]
    """A function that is called with a line of text for each entry."""

    def keep_tail(self, tail: CutTail) -> None:
        """Durable: copy the batches that are about to be truncated."""
        name = f"truncated-{tail.start_offset}-{tail.end_offset}-epoch-{tail.epoch}"
        folder = self._entry(name, is_fragment=True)
        for base_offset, pieces in groupby(tail.pieces, key=itemgetter(0)):
            first = max(base_offset, tail.start_offset)
            path = f"{folder}/{segment_file_name(first, FileKind.SEGMENT)}"
            with self.files.create(path) as file:
                for _, data in pieces:
                    file.write(file.size(), bytes(data))
                file.sync()
        self.files.sync_directory(folder)
        self.report(
            f"truncated to offset {tail.start_offset}: offsets {tail.start_offset} to "
            f"{tail.end_offset - 1}, up to epoch {tail.epoch}, are kept in {self.folder}/{name}"
        )

    def keep_log(self, folder: str, snapshot_id: OffsetAndEpoch) -> None:
        """Durable: make hard links to all files that a restart at this snapshot removes from the
        partition's `folder`."""
        name = f"replaced-by-snapshot-{snapshot_id.offset}-{snapshot_id.epoch}"
        target = self._entry(name, is_fragment=False)
        for file_name in self.files.names(folder):
            if _is_replaced(classify(file_name), snapshot_id):
                self.files.link(f"{folder}/{file_name}", f"{target}/{file_name}")
        self.files.sync_directory(target)
        self.report(
            f"the log restarts at snapshot {snapshot_id.offset}-{snapshot_id.epoch}: what was "
            f"there is kept in {self.folder}/{name}"
        )

    def _entry(self, name: str, *, is_fragment: bool) -> str:
        """Make the entry `name`, or complete it after a crash. Returns the partition's folder in
        the entry. is_fragment: whether the entry holds only a part of the log."""
        node_folder = f"{self.folder}/{name}"
        folder = f"{node_folder}/{self.partition}"
        self.files.make_directory(node_folder)
        self.files.make_directory(folder)
        if capture.FILE_NAME not in self.files.names(node_folder):
            captured_at = datetime.fromtimestamp(self.now() / 1000, UTC)
            content = capture.encode(CaptureInfo(captured_at, is_fragment=is_fragment))
            replace_durably(self.files, node_folder, capture.FILE_NAME, content)
        if read_identity(self.files, node_folder) is None:
            write_identity(self.files, node_folder, self.replica)
        return folder


_OF_LOG = (*KINDS, FileKind.LEADER_EPOCH_CHECKPOINT, FileKind.PARTITION_METADATA)


def _is_replaced(name: FileName, snapshot_id: OffsetAndEpoch) -> bool:
    if name.snapshot is None:
        return name.kind in _OF_LOG and not name.deleted
    found = name.snapshot
    return found.state is SnapshotState.COMPLETE and found.id < snapshot_id
