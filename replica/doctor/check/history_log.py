"""A directory's log as a value for replica.history."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from replica.doctor.check.examined import Examined, leaders_of
from replica.format.damage import DamageKind
from replica.format.directory import SegmentFile
from replica.format.segment import numbers_of
from replica.history.log import LogBatch, ReplicaLog
from replica.model.epochs import UNDEFINED_EPOCH
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import VotersAt


def replica_log(examined: Examined, unknown: str) -> ReplicaLog:
    """The whole log of a directory. unknown: the directory id to use if no file names the owner of
    the directory."""
    batches: list[LogBatch] = []
    for segment in examined.directory.segments:
        batches.extend(_batches(segment, batches[-1].last_offset if batches else -1))
    return _log_of(examined, unknown, batches)


def outline_log(examined: Examined, unknown: str) -> ReplicaLog:
    """The log as replica_log gives it, but with one batch for all adjacent batches of one epoch: a
    small value for a log that isn't compared with others."""
    runs: list[LogBatch] = []
    first, end, epoch = 0, 0, UNDEFINED_EPOCH
    names = ("base_offset", "last_offset", "leader_epoch", "crc_valid")
    for segment in examined.directory.segments:
        for base, last, its_epoch, is_valid in numbers_of(segment.scan.batches, *names):
            if not is_valid or base < end:
                continue
            if (base, its_epoch) != (end, epoch):
                if first < end:
                    runs.append(LogBatch(first, end - 1, epoch, None))
                first, epoch = base, its_epoch
            end = last + 1
    if first < end:
        runs.append(LogBatch(first, end - 1, epoch, None))
    return _log_of(examined, unknown, runs)


def _log_of(examined: Examined, unknown: str, batches: Sequence[LogBatch]) -> ReplicaLog:
    directory, state = examined.directory, examined.directory.quorum_state
    changes = examined.leader_changes
    key = ReplicaKey(NO_NODE, unknown) if examined.replica is None else examined.replica.key
    return ReplicaLog(
        key=key,
        log_start=directory.log_start_offset,
        batches=tuple(batches),
        snapshots=tuple(snapshot_id for snapshot_id, _ in examined.usable_snapshots),
        quorum_epoch=UNDEFINED_EPOCH if state is None else state.leader_epoch,
        voter_sets=tuple(voters for voters, _ in examined.voters_records),
        leader_changes=tuple(
            VotersAt(one.offset, one.epoch, leaders_of(one.message.voters)) for one in changes
        ),
        led_epochs=frozenset(one.epoch for one in changes if one.message.leader_id == key.node_id),
        unsynced_from=_unsynced_from(directory.segments),
        quorum_leader=NO_NODE if state is None else state.leader_id,
        quorum_vote=NO_NODE if state is None else state.voted_id,
    )


def _unsynced_from(segments: Iterable[SegmentFile]) -> int | None:
    """The offset at which the first run of zeros between batches begins (ReplicaLog.unsynced_from);
    None if there is no such run."""
    for segment in segments:
        for damage in segment.scan.damages:
            if damage.kind is DamageKind.ZERO_HOLE:
                batches = segment.scan.batches
                place = bisect_left(batches, damage.position, key=lambda one: one.position)
                return batches[place - 1].header.next_offset if place else segment.base_offset
    return None


def _batches(segment: SegmentFile, last_offset: int) -> Iterator[LogBatch]:
    """The batches with a valid CRC, without batches that overlap earlier batches. last_offset: the
    last offset of the batches before the segment; -1 if there are none."""
    for batch in segment.scan.batches:
        header = batch.header
        if batch.crc_valid and header.base_offset > last_offset:
            last_offset = header.last_offset
            digest = (header.crc, header.size_bytes)
            yield LogBatch(header.base_offset, last_offset, header.leader_epoch, digest)
