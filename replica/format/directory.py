"""A whole metadata directory as a value: its content, and its damages.

A node's log directory holds meta.properties, bootstrap.checkpoint and the partition's folder,
__cluster_metadata-0. `read_directory` takes the partition's folder, and reads every file that Kafka
puts there. It takes no lock and writes nothing, so the node may be running.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeVar

from replica.errors import DataError, UnreadableFileError
from replica.format import index, leader_epoch_checkpoint, segment
from replica.format.byte_source import Source, all_bytes, byte_source
from replica.format.content_hash import HashChain, content_hash, hash_chain
from replica.format.damage import Damage, DamageKind
from replica.format.file_names import FileKind, FileName, classify
from replica.format.known_file import Resumed
from replica.format.listing import INDEX_DECODERS, STATE_DECODERS, check_folder, listing, size_limit
from replica.format.meta_properties import MetaProperties
from replica.format.quorum_properties import ConfiguredVoter
from replica.format.quorum_state import QuorumState
from replica.format.reading import MAX_STATE_BYTES, ReadFile, VanishedFileError, own_source
from replica.format.segment import ScanLog, SegmentScan
from replica.format.snapshot import SnapshotState
from replica.format.snapshot_content import SnapshotContent, inspect
from replica.model.epochs import EpochStart, OffsetAndEpoch
from replica.model.keys import ReplicaId

MAX_READS = 3
"""How often a changing directory is read before the damage changed-while-read is reported."""

_T = TypeVar("_T")

Resume = Callable[[str, str, FileName], Resumed | None]
"""(path relative to the node's log directory, path to open, name) -> a known segment or snapshot;
None if the file must be read whole. It raises the errors of ReadFile."""


@dataclass(frozen=True, slots=True)
class DirectoryFile:
    """A file that was read."""

    path: str
    """The path relative to the node's log directory, with '/' between its parts."""
    name: FileName
    size_bytes: int
    sha256: str
    """The hash of replica.format.content_hash in hex digits; "" if the caller didn't want it."""
    chain: HashChain | None = field(default=None, compare=False, repr=False)
    """The chain of hashes of a segment; None for other files."""


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A .log or .log.deleted file and its batches."""

    file: DirectoryFile
    scan: SegmentScan

    @property
    def base_offset(self) -> int:
        """The offset in the file's name; 0 if the name has none."""
        return self.file.name.base_offset or 0

    @property
    def end_offset(self) -> int:
        """The offset after the last batch; base_offset if there is no batch."""
        following = self.scan.next_offset
        return self.base_offset if following is None else following


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A snapshot in any state, or bootstrap.checkpoint, whose id is None."""

    file: DirectoryFile
    scan: SegmentScan
    content: SnapshotContent

    @property
    def id(self) -> OffsetAndEpoch | None:
        name = self.file.name.snapshot
        return None if name is None else name.id

    @property
    def state(self) -> SnapshotState:
        name = self.file.name.snapshot
        return SnapshotState.COMPLETE if name is None else name.state

    @property
    def is_whole(self) -> bool:
        """Whether the snapshot has header and footer, no damage, and no batch of another epoch."""
        if self.scan.damages or self.scan.zero_tail:
            return False
        epochs = {batch.header.leader_epoch for batch in self.scan.batches}
        same_epoch = self.id is None or epochs == {self.id.epoch}
        return self.content.has_header and self.content.has_footer and same_epoch

    @property
    def is_usable(self) -> bool:
        """Whether a replica could start from the snapshot: it's whole, its name has no suffix."""
        return self.is_whole and self.state is SnapshotState.COMPLETE


@dataclass(frozen=True, slots=True)
class IndexFile:
    """A decoded offset index or time index."""

    file: DirectoryFile
    content: index.OffsetIndex | index.TimeIndex


@dataclass(frozen=True, slots=True)
class MetadataDirectory:
    """The content of a directory. meta, quorum_state, leader_epochs, topic_id and configured_voters
    are None if their file is absent or damaged."""

    path: str
    meta: MetaProperties | None = None
    quorum_state: QuorumState | None = None
    leader_epochs: tuple[EpochStart, ...] | None = None
    topic_id: str | None = None
    configured_voters: tuple[ConfiguredVoter, ...] | None = None
    segments: tuple[SegmentFile, ...] = ()
    deleted_segments: tuple[SegmentFile, ...] = ()
    """Segments that no longer belong to the log (suffix .deleted)."""
    snapshots: tuple[SnapshotFile, ...] = ()
    bootstrap: SnapshotFile | None = None
    indexes: tuple[IndexFile, ...] = ()
    files: tuple[DirectoryFile, ...] = ()
    damages: tuple[Damage, ...] = ()
    is_fragment: bool = False
    """Whether the directory holds only a part of the log: see
    replica.format.capture.CaptureInfo."""

    @property
    def replica(self) -> ReplicaId | None:
        """The replica that meta.properties names; None without a readable meta.properties that
        names one."""
        return None if self.meta is None else self.meta.replica

    @property
    def has_moved(self) -> bool:
        """Whether the directory changed during each reading: its files may not fit together."""
        return any(damage.kind is DamageKind.CHANGED for damage in self.damages)

    @property
    def first_offset(self) -> int | None:
        """The base offset of the first batch, which may be below the log start; None if there is no
        batch."""
        held = (each.scan.batches for each in self.segments)
        return next((batches[0].header.base_offset for batches in held if batches), None)

    @property
    def log_end_offset(self) -> int:
        """The offset after the last batch. Without segments, the end offset of the newest usable
        snapshot, or 0."""
        if self.segments:
            return self.segments[-1].end_offset
        usable = (s.id.offset for s in self.snapshots if s.id and s.is_usable)
        return max(usable, default=0)

    @property
    def log_start_offset(self) -> int:
        """The start of the first leader epoch, if a snapshot ends or the log begins at this offset;
        otherwise first_offset, or log_end_offset without a batch. Batches below are leftovers."""
        first = self.first_offset
        if self.leader_epochs:
            start = self.leader_epochs[0].start_offset
            ends = {s.id.offset for s in self.snapshots if s.id is not None}
            if start == first or start in ends:
                return start
        return self.log_end_offset if first is None else first


def read_whole(relative: str, path: str, name: FileName) -> Resumed | None:
    """The Resume of a caller that knows no files: returns None, so that each file is read whole."""
    return None


def read_directory(
    path: str,
    *,
    read: ReadFile = own_source,
    scan: ScanLog = segment.scan,
    resume: Resume = read_whole,
    hashed: bool = True,
) -> MetadataDirectory:
    """Read the partition folder at `path`, and the node's own files in the folder above it.

    resume: a function that gives known files, which need not be read whole. `read` and `resume`
        open files as open_own_file does.
    hashed: whether to compute the files' hashes, which takes longer than the scan of a large file.

    Raises UsageError if `path` isn't a folder, UnreadableFileError if it can't be listed. Any other
    error becomes a Damage.
    """
    check_folder(path)
    parent = os.path.dirname(os.path.abspath(path))
    for _ in range(MAX_READS):
        reading = _Reading(path, parent, read, scan, hashed, resume)
        if reading.read_files():
            break
    return reading.result()


def read_single_file(path: str, name: FileName, read: ReadFile, scan: ScanLog) -> MetadataDirectory:
    """A directory with only the file at `path`; a log has no hash. Raises UnreadableFileError."""
    reading = _Reading(path, "", read, scan, size_limit(name) == MAX_STATE_BYTES, read_whole)
    relative = os.path.basename(path)
    if name.kind is FileKind.OTHER:
        detail = "no segment, snapshot or other file of a metadata directory"
        reading.damages.append(Damage(0, 0, DamageKind.NOT_KAFKA, detail, relative))
    else:
        try:
            reading.take(relative, name, read(path, size_limit(name)))
        except UnreadableFileError as error:  # an error of a scan has no path
            raise error if error.path else UnreadableFileError(path, error.reason) from error
    return reading.result()


@dataclass
class _Reading:
    """The state of one reading, with at most one file in memory."""

    path: str
    parent: str
    read: ReadFile
    scan: ScanLog
    hashed: bool
    resume: Resume
    damages: list[Damage] = field(default_factory=list)
    files: dict[str, DirectoryFile] = field(default_factory=dict)
    segments: list[SegmentFile] = field(default_factory=list)
    snapshots: list[SnapshotFile] = field(default_factory=list)
    indexes: list[IndexFile] = field(default_factory=list)
    singles: dict[FileKind, Any] = field(default_factory=dict)

    def read_files(self) -> bool:
        """Read the listed files. Returns False if the directory changed meanwhile.

        A file may be gone when it is opened. A node that truncates the log or moves its start then
        writes leader-epoch-checkpoint, so this file is read before and after the log.
        """
        before, after, vanished = self._epochs_now(), None, False
        for relative, absolute in listing(self.path, self.parent):
            try:
                name = classify(os.path.basename(relative))
                resumed = self.resume(relative, absolute, name)
                if resumed is not None:
                    self._take_resumed(relative, name, resumed)
                    continue
                data = self.read(absolute, size_limit(name))
                if relative == self._epochs_path:
                    after = all_bytes(data)
                self.take(relative, name, data)
            except VanishedFileError:
                vanished = True
                self._damage(relative, 0, DamageKind.CHANGED, "listed, but gone when it was opened")
            except UnreadableFileError as error:
                self._damage(relative, 0, DamageKind.UNREADABLE, error.reason)
        settled = before == after
        if not settled:
            detail = "it changed while the log was read, so it isn't compared with the log"
            self._damage(self._epochs_path, 0, DamageKind.CHANGED, detail)
            self.singles.pop(FileKind.LEADER_EPOCH_CHECKPOINT, None)
        return settled and not vanished

    @property
    def _epochs_path(self) -> str:
        folder = os.path.basename(os.path.abspath(self.path))
        return f"{folder}/{leader_epoch_checkpoint.FILE_NAME}"

    def _epochs_now(self) -> bytes | None:
        """The bytes of leader-epoch-checkpoint; None if it can't be read."""
        path = os.path.join(self.path, leader_epoch_checkpoint.FILE_NAME)
        try:
            return all_bytes(self.read(path, MAX_STATE_BYTES))
        except UnreadableFileError:
            return None

    def result(self) -> MetadataDirectory:
        segments = sorted(self.segments, key=lambda file: file.base_offset)
        live = tuple(s for s in segments if not s.file.name.deleted)
        self._check_joints(live)
        by_path = sorted(self.snapshots, key=lambda snapshot: snapshot.file.path)
        bootstrap = [s for s in by_path if s.file.name.kind is FileKind.BOOTSTRAP]
        return MetadataDirectory(
            path=self.path,
            meta=self.singles.get(FileKind.META_PROPERTIES),
            quorum_state=self.singles.get(FileKind.QUORUM_STATE),
            leader_epochs=self.singles.get(FileKind.LEADER_EPOCH_CHECKPOINT),
            topic_id=self.singles.get(FileKind.PARTITION_METADATA),
            configured_voters=self.singles.get(FileKind.QUORUM_PROPERTIES),
            segments=live,
            deleted_segments=tuple(s for s in segments if s.file.name.deleted),
            snapshots=tuple(s for s in by_path if s.file.name.kind is FileKind.SNAPSHOT),
            bootstrap=bootstrap[0] if bootstrap else None,
            indexes=tuple(sorted(self.indexes, key=lambda index_file: index_file.file.path)),
            files=tuple(self.files[path] for path in sorted(self.files)),
            damages=tuple(sorted(self.damages, key=lambda d: (d.file, d.position))),
        )

    def take(self, relative: str, name: FileName, read: Source) -> None:
        file = self._found(relative, name, read)
        self.files[relative] = file
        if name.kind is FileKind.SEGMENT:
            self._segment(file, read)
        elif name.kind in (FileKind.SNAPSHOT, FileKind.BOOTSTRAP):
            self._snapshot(file, read)
        else:
            self._small_file(file, all_bytes(read))

    def _small_file(self, file: DirectoryFile, data: bytes) -> None:
        decode = INDEX_DECODERS.get(file.name.kind)
        if decode is not None:
            # an index of 0 bytes is legal in Kafka
            content = self._decoded(file, data, decode) if data else decode(b"")
            if content is not None:
                self.indexes.append(IndexFile(file, content))
        else:
            kind = file.name.kind
            # Kafka makes leader-epoch-checkpoint with 0 bytes, and writes it at the first epoch
            is_of_empty_log = self.parent and all(each.scan.is_empty for each in self.segments)
            if not data and kind is FileKind.LEADER_EPOCH_CHECKPOINT and is_of_empty_log:
                self.singles[kind] = ()
            else:
                self.singles[kind] = self._decoded(file, data, STATE_DECODERS[kind])

    def _found(self, relative: str, name: FileName, read: Source) -> DirectoryFile:
        if self.hashed and name.kind is FileKind.SEGMENT:
            chain = hash_chain(read)
            return DirectoryFile(relative, name, byte_source(read).size, chain.digest, chain)
        digest = content_hash(name, read) if self.hashed else ""
        return DirectoryFile(relative, name, byte_source(read).size, digest)

    def _take_resumed(self, relative: str, name: FileName, found: Resumed) -> None:
        file = DirectoryFile(relative, name, found.size_bytes, found.content_hash, found.chain)
        self.files[relative] = file
        if found.content is not None:
            self.snapshots.append(SnapshotFile(file, found.scan, found.content))
        else:
            self.damages.extend(damage.in_file(relative) for damage in found.scan.damages)
            self.segments.append(SegmentFile(file, found.scan))

    def _damage(
        self, file: str, size: int, kind: DamageKind, detail: str, position: int = 0
    ) -> None:
        self.damages.append(Damage(position, max(0, size - position), kind, detail, file))

    def _decoded(
        self, file: DirectoryFile, data: bytes, decode: Callable[[bytes], _T]
    ) -> _T | None:
        if not data:
            self._damage(file.path, 0, DamageKind.EMPTY_FILE, f"a {file.name.kind} of 0 bytes")
            return None
        try:
            return decode(data)
        except DataError as error:
            at = error.position or 0
            self._damage(file.path, len(data), DamageKind.CONTENT, error.reason, at)
            return None

    def _segment(self, file: DirectoryFile, read: Source) -> None:
        found = self.scan(read, expected_offset=file.name.base_offset)
        self.damages.extend(damage.in_file(file.path) for damage in found.damages)
        self.segments.append(SegmentFile(file, found))

    def _snapshot(self, file: DirectoryFile, read: Source) -> None:
        found = self.scan(read, expected_offset=0)
        snapshot = SnapshotFile(file, found, inspect(read, found))
        is_complete = snapshot.state is SnapshotState.COMPLETE
        if is_complete and not file.size_bytes:
            self._damage(file.path, 0, DamageKind.EMPTY_FILE, "a snapshot of 0 bytes")
        if is_complete and found.zero_tail:
            detail = f"a snapshot with {found.zero_tail} zero bytes at its end"
            self._damage(
                file.path, file.size_bytes, DamageKind.ZERO_HOLE, detail, found.end_position
            )
        # a .part file is being written, so an incomplete end is no damage
        unfinished = {DamageKind.TORN_TAIL} if snapshot.state is SnapshotState.PART else set()
        told = (each for each in found.damages if each.kind not in unfinished)
        self.damages.extend(damage.in_file(file.path) for damage in told)
        self.snapshots.append(snapshot)

    def _check_joints(self, segments: tuple[SegmentFile, ...]) -> None:
        """Record a damage if a segment doesn't start at the end of the previous one, unless the
        directory changed while it was read."""
        changed = any(damage.kind is DamageKind.CHANGED for damage in self.damages)
        for before, after in pairwise(() if changed else segments):
            end, start = before.end_offset, after.base_offset
            if start != end:
                kind = DamageKind.OFFSET_GAP if start > end else DamageKind.OFFSET_MISMATCH
                detail = f"segment starts at {start}, the one before has end offset {end}"
                self._damage(after.file.path, 0, kind, detail)
