"""One replica's directory, or one file, which is read once: its content, and the bytes of its
logs."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from replica.errors import DataError
from replica.format.byte_source import Source
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.control import (
    ControlMessage,
    KRaftVoters,
    LeaderChange,
    LeaderVoter,
    decode_control,
)
from replica.format.damage import Damage, DamageKind
from replica.format.directory import (
    DirectoryFile,
    MetadataDirectory,
    SegmentFile,
    SnapshotFile,
    read_single_file,
)
from replica.format.discovery import DirectoryPath, DiscoveredPath, FilePath
from replica.format.file_names import LOG_KINDS, FileKind, classify
from replica.format.reading import ReadFile
from replica.format.record import Record
from replica.format.segment import chosen
from replica.format.walk import LocatedBatch
from replica.metadata.passed_over import NOTHING, PassedOver
from replica.model.epochs import OffsetAndEpoch
from replica.model.keys import ZERO_UUID, ReplicaId, ReplicaKey
from replica.model.voters import VoterKeys, VotersAt
from replica.scan.file_room import DEFAULT_ROOM, FileRoom, Growth


@dataclass(frozen=True)
class Examined:
    """The files of a replica, as they were found."""

    location: DiscoveredPath
    directory: MetadataDirectory
    contents: Mapping[str, FileContent]
    """The bytes of segments and snapshots, by their path relative to the node's log directory. If
    an earlier reading of a file is reused (replica.format.known_file), only the batches of its scan
    and the bytes behind the known part are here."""
    room: FileRoom = DEFAULT_ROOM
    """The limit of memory for the content of each file."""
    passed_over: PassedOver = NOTHING
    """The types of records that a replay passes over."""

    @property
    def shown(self) -> str:
        """The name of the directory as the user gave it."""
        return self.location.shown

    @property
    def is_directory(self) -> bool:
        """Whether a whole directory was examined. If not (single files, or a fragment of a log), no
        file counts as missing."""
        is_whole = isinstance(self.location, DirectoryPath) and self.location.is_whole
        return is_whole and not self.directory.is_fragment

    @property
    def is_complete(self) -> bool:
        """Whether a file that is absent here is also absent on the node."""
        return self.is_directory and not self.breaks_off

    @property
    def breaks_off(self) -> bool:
        """Whether the node's log may continue: this is a part of a log, or an incomplete copy."""
        return self.is_cut or self.directory.is_fragment

    @property
    def is_cut(self) -> bool:
        """Whether this is an incomplete copy, as of an archive that breaks off."""
        return isinstance(self.location, DirectoryPath) and self.location.is_cut

    @property
    def replica(self) -> ReplicaId | None:
        """The replica that owns the directory; None without a readable meta.properties."""
        return self.directory.replica

    @property
    def owner(self) -> ReplicaId:
        """The replica of a directory whose replica is known, as for each directory from
        by_cluster."""
        assert self.replica is not None, "meta.properties names the replica"
        return self.replica

    @property
    def damages(self) -> tuple[Damage, ...]:
        """The damages of files that could not be read. They name files as the user does."""
        return tuple(
            damage.in_file(self.shown_file(damage.file)) for damage in self.directory.damages
        )

    @property
    def hides_entries(self) -> bool:
        """Whether a part of the log could not be read. The incomplete end of a copy doesn't
        count."""
        return any(
            classify(os.path.basename(damage.file)).kind is FileKind.SEGMENT
            and damage.kind is not DamageKind.TORN_TAIL
            for damage in self.directory.damages
        )

    def shown_file(self, relative: str) -> str:
        """The name of a file as the user would write it. relative: its path below the node's log
        directory; "" for the metadata directory itself."""
        if isinstance(self.location, FilePath) or not relative:
            return self.shown
        return self.location.shown_file(relative)

    def file_of(self, kind: FileKind) -> DirectoryFile | None:
        """The only file of a kind; None if there is none."""
        return next((file for file in self.directory.files if file.name.kind is kind), None)

    def path_of(self, kind: FileKind) -> str:
        """The path of the only file of a kind; "" if there is none."""
        return "" if (file := self.file_of(kind)) is None else file.path

    def lacks(self, kind: FileKind) -> bool:
        """Whether a directory has no file of the kind, not even one that couldn't be read."""
        if not self.is_directory or self.file_of(kind) is not None:
            return False
        files = (os.path.basename(damage.file) for damage in self.directory.damages)
        return all(classify(file).kind is not kind for file in files)

    @property
    def logs(self) -> tuple[SegmentFile | SnapshotFile, ...]:
        """The segments of the log, and the snapshots."""
        return (*self.directory.segments, *self.directory.snapshots)

    @property
    def usable_snapshots(self) -> Iterator[tuple[OffsetAndEpoch, SnapshotFile]]:
        """(id, snapshot) for each usable snapshot, including the bootstrap snapshot."""
        return ((one.id, one) for one in self.directory.snapshots if one.id and one.is_usable)

    @property
    def batches(self) -> Iterator[tuple[SegmentFile, LocatedBatch]]:
        """(segment, batch) for each batch of the log with a valid CRC, in the order of the log."""
        for segment in self.directory.segments:
            for batch in segment.scan.batches:
                if batch.crc_valid:
                    yield segment, batch

    @property
    def last_batch(self) -> LocatedBatch | None:
        """The last batch of the log; None for a log without batches."""
        batches = (segment.scan.batches for segment in reversed(self.directory.segments))
        return next((held[-1] for held in batches if held), None)

    def batch_at(self, offset: int) -> tuple[SegmentFile, LocatedBatch] | None:
        """The first batch with a valid CRC that holds the offset, and its segment; None if there is
        none."""
        names = ("base_offset", "last_offset", "crc_valid")
        for segment in self.directory.segments:
            if segment.end_offset <= offset:
                continue
            for batch in chosen(
                segment.scan.batches,
                names,
                lambda first, last, valid: (first <= offset) & (offset <= last) & valid,
            ):
                return segment, batch
        return None

    def time_at(self, offset: int) -> int | None:
        """The largest time of the batch that holds an offset, in ms since 1970 (UTC); None without
        such a batch, or if it has no time."""
        held = self.batch_at(offset)
        at = -1 if held is None else held[1].header.max_timestamp
        return None if at < 0 else at

    def content_of(self, file: SegmentFile | SnapshotFile) -> FileContent:
        """The bytes of a segment or snapshot."""
        return self.contents[file.file.path]

    @property
    def changed(self) -> tuple[str, ...]:
        """The paths of the segments and snapshots whose bytes have changed since the scan. The
        directory has to be examined again."""
        return tuple(
            one.file.path
            for one in self.logs
            if self.content_of(one).has_changed or self.content_of(one).size < one.file.size_bytes
        )

    def growth(self) -> Growth:
        """The limit of memory for work on the log."""
        return self.room.growing(sum(len(one.scan.batches) for one in self.directory.segments))

    def records(self, start: int, end: int) -> Iterator[tuple[LocatedBatch, Record]]:
        """The log's records from offset `start` (inclusive) to `end` (exclusive), each with its
        batch. In each batch, only the records before the first that can't be decoded."""
        for segment in self.directory.segments:
            content = self.content_of(segment)
            inflation = Inflation(content.size)
            for batch in segment.scan.batches:
                header = batch.header
                if header.last_offset < start or header.base_offset >= end or not batch.crc_valid:
                    continue
                for record in content.whole_records(batch, inflation):
                    if start <= record.offset < end:
                        yield batch, record

    def control_records(
        self, file: SegmentFile | SnapshotFile
    ) -> Iterator[tuple[LocatedBatch, Record, ControlMessage]]:
        """(batch, record, message) for each control record of one file that can be decoded."""
        content = self.content_of(file)
        inflation = Inflation(content.size)
        for batch in chosen(file.scan.batches, ("crc_valid", "is_control"), operator.and_):
            for record in content.whole_records(batch, inflation):
                try:
                    yield batch, record, decode_control(record.key, record.value)
                except DataError:  # the rule undecodable-record reports it
                    continue

    @cached_property
    def _of_quorum(
        self,
    ) -> tuple[tuple[SegmentFile, LocatedBatch, Record, LeaderChange | KRaftVoters], ...]:
        """The records of the log about leaders and voters. They are read once, because many rules
        need them."""
        return tuple(
            (segment, batch, record, message)
            for segment in self.directory.segments
            for batch, record, message in self.control_records(segment)
            if isinstance(message, LeaderChange | KRaftVoters)
        )

    @cached_property
    def leader_changes(self) -> tuple[LeaderChangeBatch, ...]:
        """The LeaderChange records of the log, in the order of the log."""
        return tuple(
            LeaderChangeBatch(
                segment.file.path,
                batch.position,
                record.offset,
                batch.header.leader_epoch,
                record.timestamp,
                message,
            )
            for segment, batch, record, message in self._of_quorum
            if isinstance(message, LeaderChange)
        )

    @cached_property
    def voters_records(self) -> tuple[tuple[VotersAt, KRaftVoters], ...]:
        """The voters records of the log and of usable snapshots, each with its voter set."""
        of_log = (
            (record.offset, batch.header.leader_epoch, message)
            for _, batch, record, message in self._of_quorum
        )
        of_snapshots = (
            (snapshot_id.offset - 1, snapshot_id.epoch, message)
            for snapshot_id, snapshot in self.usable_snapshots
            for _, _, message in self.control_records(snapshot)
        )
        return tuple(
            (VotersAt(offset, epoch, keys_of(message)), message)
            for offset, epoch, message in (*of_log, *of_snapshots)
            if isinstance(message, KRaftVoters)
        )

    @property
    def newest_voters(self) -> tuple[VotersAt, KRaftVoters] | None:
        """The voters record at the highest offset; None if there is none."""
        return max(self.voters_records, key=lambda one: one[0].offset, default=None)

    @property
    def stated_voters(self) -> VoterKeys:
        """The voters that the newest voters record names. A static quorum has no such record: the
        newest LeaderChange record, quorum-state (version 0) or the configuration names its
        voters."""
        if self.newest_voters is not None:
            return self.newest_voters[0].voters
        if self.leader_changes:
            return leaders_of(self.leader_changes[-1].message.voters)
        state = self.directory.quorum_state
        named = () if state is None else state.current_voters
        configured = (voter.voter_id for voter in self.directory.configured_voters or ())
        return frozenset(ReplicaKey(node_id) for node_id in named or configured)


def examine(
    location: DiscoveredPath, read: ReadFile | None = None, room: FileRoom = DEFAULT_ROOM
) -> Examined:
    """Read all files of the replica, each once. Raises UnreadableFileError if the folder, or the
    single file, can't be read. read: a function that reads a file; None for the function of `room`.
    room: the limit of memory for one file."""
    is_file = isinstance(location, FilePath)
    read = read or (room.read if is_file else room.read_own)
    contents: dict[str, FileContent] = {}

    def keep(file: str, limit: int) -> Source:
        data = read(file, limit)
        if not is_file and classify(os.path.basename(file)).kind not in LOG_KINDS:
            return data
        contents[os.path.abspath(file)] = FileContent(data)
        return contents[os.path.abspath(file)].source()

    if isinstance(location, FilePath):
        directory = read_single_file(location.path, location.name, keep, room.scan)
        only = {os.path.basename(path): content for path, content in contents.items()}
        return Examined(location, directory, only, room)
    directory = location.read(keep, room.scan, hashed=False)
    by_path = {
        file.path: contents[_absolute(location, file.path)]
        for file in directory.files
        if file.name.kind in LOG_KINDS
    }
    return Examined(location, directory, by_path, room)


def _absolute(location: DirectoryPath, relative: str) -> str:
    folder = os.path.abspath(location.path)
    _, in_folder, rest = relative.partition("/")
    return os.path.join(folder, rest) if in_folder else f"{os.path.dirname(folder)}/{relative}"


def by_cluster(group: Sequence[Examined]) -> list[list[Examined]]:
    """The directories whose replica is known, in a list for each cluster id. The directories of a
    cluster are sorted by their replica, so that the findings don't depend on the paths or their
    order."""
    clusters: dict[str, list[tuple[ReplicaId, Examined]]] = {}
    for examined in group:
        replica = examined.replica
        if replica is not None:
            clusters.setdefault(replica.cluster_id, []).append((replica, examined))
    ordered = (sorted(members, key=lambda member: member[0]) for members in clusters.values())
    return [[examined for _, examined in members] for members in ordered]


def newest_voters(ranked: Iterable[Examined]) -> KRaftVoters | None:
    """The voters record in force at the end of the newest log that has such a record; None if no
    log has one. An older log may have such a record at a higher offset that was never committed.

    ranked: replicas of one cluster, the newest log first, in the order of elections.
    """
    return next((one.newest_voters[1] for one in ranked if one.newest_voters is not None), None)


@dataclass(frozen=True, slots=True)
class LeaderChangeBatch:
    """A LeaderChange record and its place."""

    path: str
    """The file of the segment that holds the record."""
    position: int
    """The byte of the file at which the batch of the record begins."""
    offset: int
    epoch: int
    timestamp: int
    """The time of the record, in ms since 1970 (UTC)."""
    message: LeaderChange


def keys_of(message: KRaftVoters) -> VoterKeys:
    """The voters of a voters record, without their endpoints."""
    return frozenset(voter.key for voter in message.voters)


def leaders_of(voters: Iterable[LeaderVoter]) -> VoterKeys:
    """The voters that a LeaderChange record names, with ZERO_UUID for a missing directory id."""
    return frozenset(ReplicaKey(one.voter_id, one.directory_id or ZERO_UUID) for one in voters)
