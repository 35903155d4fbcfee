"""Finds elections that follow one another while nothing else happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from replica.doctor.check.catalogue import log
from replica.doctor.check.examined import Examined
from replica.doctor.check.rule import Finding
from replica.errors import DataError
from replica.format.compression import Inflation
from replica.format.content import FileContent
from replica.format.control import LeaderChange, decode_control
from replica.format.directory import SegmentFile
from replica.format.walk import LocatedBatch
from replica.metadata.codec import decode
from replica.metadata.record import MetadataRecord

ENDLESS_LEADERS = 5
"""The number of successive leaders without changes for which there is a finding."""
MAX_REIGN_MS = 30_000
"""The longest time (ms) as leader for a leader to count as idle. A quorum whose leader leads for
longer works, even without requests."""


@dataclass(frozen=True, slots=True)
class IdleLeaders:
    """The newest leaders of a log, none of which changed the metadata or lasted longer than
    MAX_REIGN_MS."""

    batches: tuple[tuple[SegmentFile, LocatedBatch], ...]
    """The batches at the log's end that change nothing, with their segment, the newest first."""
    epochs: tuple[int, ...]
    """The leaders' epochs, the newest first."""
    began: tuple[SegmentFile, LocatedBatch] | None
    """The batch with which the oldest idle leader begins, with the segment of that batch; None if
    no leader is idle."""
    ms: int
    """The time (ms) from the batch `began` to the last batch of the log."""


def idle_leaders(examined: Examined) -> IdleLeaders:
    """The newest leaders that did nothing, by the log's batches from its end on. A gap in the log
    ends the search, because the leader before it may have done something there."""
    last = examined.last_batch
    batches: list[tuple[SegmentFile, LocatedBatch]] = []
    epochs: list[int] = []
    began = None
    until = 0 if last is None else last.header.max_timestamp
    following = None if last is None else last.header.next_offset
    for segment, batch in _backwards(examined):
        header = batch.header
        if (
            header.next_offset != following
            or not batch.crc_valid
            or until - header.base_timestamp > MAX_REIGN_MS
        ):
            break
        following = header.base_offset
        kind = _kind(examined.content_of(segment), batch)
        if kind is None:
            break
        batches.append((segment, batch))
        if kind:
            epochs.append(header.leader_epoch)
            began, until = (segment, batch), header.base_timestamp
    newest = 0 if last is None else last.header.max_timestamp
    return IdleLeaders((*batches,), (*epochs,), began, max(newest - until, 0))


def judge_elections(idle: IdleLeaders) -> Iterator[Finding]:
    """A finding if many leaders follow one another and change nothing."""
    if idle.began is None or len(idle.epochs) < ENDLESS_LEADERS:
        return
    segment, batch = idle.began
    yield log.ENDLESS_ELECTIONS.at(
        segment.file.path,
        f"{len(idle.epochs)} leaders within {max(1, idle.ms // 1000)} s, epochs {idle.epochs[-1]} "
        f"to {idle.epochs[0]}, and none of them changed the metadata",
        position=batch.position,
        offset=batch.header.base_offset,
        epoch=batch.header.leader_epoch,
    )


def _backwards(examined: Examined) -> Iterator[tuple[SegmentFile, LocatedBatch]]:
    for segment in reversed(examined.directory.segments):
        batches = segment.scan.batches
        for place in range(len(batches) - 1, -1, -1):
            yield segment, batches[place]


def _kind(content: FileContent, batch: LocatedBatch) -> bool | None:
    """True if the batch has a LeaderChange record; False if it has only no-ops or other control
    records; None if it changes the metadata, or can't be decoded."""
    leads, count = False, 0
    inflation = Inflation(content.size)
    for record in content.whole_records(batch, inflation):
        count += 1
        try:
            if batch.header.is_control:
                leads |= isinstance(decode_control(record.key, record.value), LeaderChange)
                continue
            message = decode(record.value or b"")
        except DataError:  # the rule undecodable-record reports it
            return None
        if not isinstance(message, MetadataRecord) or message.type != "NO_OP_RECORD":
            return None
    return leads if count == batch.header.record_count else None
