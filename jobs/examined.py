"""One replica's directory, read once for a comparison: its files, its log as a value, its bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from replica.errors import DataError, UsageError
from replica.format.control import ControlMessage, KRaftVoters, LeaderChange, decode_control
from replica.format.damage import Damage, DamageKind
from replica.format.directory import MetadataDirectory, SegmentFile, SnapshotFile
from replica.format.discovery import DirectoryPath, discover
from replica.format.file_names import FileKind, classify
from replica.format.reading import read_file
from replica.format.record import Record, records_of
from replica.format.segment import LocatedBatch, SegmentScan
from replica.history.log import LeaderChangeAt, LogBatch, ReplicaLog, VoterSetAt
from replica.types import NO_NODE, UNDEFINED_EPOCH, ZERO_UUID, ReplicaId, ReplicaKey


@dataclass(frozen=True)
class Examined:
    """A replica as it was found. contents: the bytes of segments and snapshots, by path."""

    found: DirectoryPath
    directory: MetadataDirectory
    contents: dict[str, bytes]

    @property
    def shown(self) -> str:
        """The user's name of the directory."""
        return self.found.shown

    @property
    def replica(self) -> ReplicaId | None:
        """Whose it is; None without a readable meta.properties."""
        return self.directory.replica

    @property
    def damages(self) -> tuple[Damage, ...]:
        """What could not be read, named as the user would."""
        return tuple(
            damage.in_file(self.found.shown_file(damage.file)) for damage in self.directory.damages
        )

    @property
    def hides_entries(self) -> bool:
        """Whether part of the log could not be read; the torn end of a copy hides nothing."""
        return any(
            classify(os.path.basename(damage.file)).kind is FileKind.SEGMENT
            and damage.kind is not DamageKind.TORN_TAIL
            for damage in self.directory.damages
        )

    def bytes_of(self, path: str) -> bytes:
        """The content of a segment or snapshot, by its path relative to the node's directory."""
        return self.contents[os.path.join(self.found.path, path.partition("/")[2])]

    def records(self, start: int, end: int) -> Iterator[tuple[LocatedBatch, Record]]:
        """The log's records from `start` to `end` (exclusive), as far as their frames decode."""
        for segment in self.directory.segments:
            data = memoryview(self.bytes_of(segment.file.path))
            for batch in segment.scan.batches:
                header = batch.header
                if header.last_offset < start or header.base_offset >= end or not batch.crc_valid:
                    continue
                for record in _whole_records(data, batch):
                    if start <= record.offset < end:
                        yield batch, record


def examine(path: str) -> Examined:
    """Read the one metadata directory at or below `path`; UsageError if there isn't exactly one."""
    found = discover([path])
    directories = [one for one in found if isinstance(one, DirectoryPath)]
    if len(directories) != len(found):
        raise UsageError(f"{path}: a file; name a metadata directory, or a folder above one")
    if len(directories) > 1:
        names = ", ".join(one.shown for one in directories[:4])
        raise UsageError(
            f"{path}: {len(directories)} metadata directories below it ({names}"
            f"{', ...' if len(directories) > 4 else ''}); name one of them"
        )
    contents: dict[str, bytes] = {}
    logs = (FileKind.SEGMENT, FileKind.SNAPSHOT)

    def keep(file: str, limit: int) -> bytes:
        data = read_file(file, limit)
        if classify(os.path.basename(file)).kind in logs:
            contents[file] = data
        return data

    return Examined(directories[0], directories[0].read(keep), contents)


def replica_log(examined: Examined, unknown: str) -> ReplicaLog:
    """The log as a value; `unknown` stands for the directory id where nobody knows whose it is."""
    directory = examined.directory
    replica = examined.replica
    batches: list[LogBatch] = []
    voter_sets: list[VoterSetAt] = []
    leader_changes: list[LeaderChangeAt] = []
    for segment in directory.segments:
        batches.extend(_batches(segment, batches[-1].last_offset if batches else -1))
        for batch, record, message in _messages(examined, segment):
            epoch = batch.header.leader_epoch
            if isinstance(message, KRaftVoters):
                voter_sets.append(VoterSetAt(record.offset, epoch, _voters(message)))
            elif isinstance(message, LeaderChange):
                leader_changes.append(LeaderChangeAt(record.offset, epoch, _leaders(message)))
    whole = [one for one in directory.snapshots if one.is_usable and one.id is not None]
    for snapshot in whole:
        voter_sets.extend(_voters_of(examined, snapshot))
    state = directory.quorum_state
    return ReplicaLog(
        key=ReplicaKey(NO_NODE, unknown) if replica is None else replica.key,
        log_start=directory.log_start_offset,
        batches=tuple(batches),
        snapshots=tuple(one.id for one in whole if one.id is not None),
        quorum_epoch=UNDEFINED_EPOCH if state is None else state.leader_epoch,
        voter_sets=tuple(voter_sets),
        leader_changes=tuple(leader_changes),
    )


def _batches(segment: SegmentFile, last_offset: int) -> Iterator[LogBatch]:
    """The batches whose CRC is right, those that would overlap the ones before left out."""
    for batch in segment.scan.batches:
        header = batch.header
        if batch.crc_valid and header.base_offset > last_offset:
            last_offset = header.last_offset
            digest = (header.crc, header.size_bytes)
            yield LogBatch(header.base_offset, last_offset, header.leader_epoch, digest)


def _messages(
    examined: Examined, file: SegmentFile | SnapshotFile
) -> Iterator[tuple[LocatedBatch, Record, ControlMessage]]:
    found: SegmentScan = file.scan
    data = memoryview(examined.bytes_of(file.file.path))
    for batch in found.batches:
        if not (batch.crc_valid and batch.header.is_control):
            continue
        for record in _whole_records(data, batch):
            try:
                yield batch, record, decode_control(record.key, record.value)
            except DataError:  # dump names it; a comparison of bytes doesn't need it
                continue


def _whole_records(data: memoryview, batch: LocatedBatch) -> Iterator[Record]:
    whole = data[batch.position : batch.position + batch.header.size_bytes]
    try:
        yield from records_of(batch.header, whole)
    except DataError:  # as above
        return


def _voters_of(examined: Examined, snapshot: SnapshotFile) -> Iterator[VoterSetAt]:
    assert snapshot.id is not None
    for _, _, message in _messages(examined, snapshot):
        if isinstance(message, KRaftVoters):
            yield VoterSetAt(snapshot.id.offset - 1, snapshot.id.epoch, _voters(message))


def _voters(message: KRaftVoters) -> frozenset[ReplicaKey]:
    return frozenset(ReplicaKey(voter.voter_id, voter.directory_id) for voter in message.voters)


def _leaders(message: LeaderChange) -> frozenset[ReplicaKey]:
    return frozenset(
        ReplicaKey(voter.voter_id, voter.directory_id or ZERO_UUID) for voter in message.voters
    )
