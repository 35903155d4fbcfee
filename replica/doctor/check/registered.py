"""Finds controllers whose registrations are newer than their own logs (see
replica.doctor.quorum.registered_later)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from replica.doctor.check.examined import Examined
from replica.doctor.quorum.log_ends import LogEnd, newest_end
from replica.doctor.quorum.registered_later import REGISTERING_MS, RegisteredLater
from replica.errors import DataError
from replica.format.compression import Inflation
from replica.format.directory import SegmentFile
from replica.format.segment import chosen
from replica.format.walk import LocatedBatch
from replica.history.log import ReplicaLog
from replica.metadata.codec import decode
from replica.metadata.record import MetadataRecord
from replica.model.keys import ReplicaKey

MAX_READ = 20_000
"""The most records of the newest log that are read again. With more records, no log is judged."""
_LEAST_BYTES = 90
"""The size in bytes of the smallest batch with a registration. Batches with a NO_OP_RECORD, of
which a day has 170,000, are smaller."""
_REGISTRATION = "REGISTER_CONTROLLER_RECORD"


def registered_later(
    members: Sequence[tuple[Examined, ReplicaLog]], ends: Sequence[LogEnd]
) -> dict[ReplicaKey, RegisteredLater]:
    """The registrations that are newer than the controllers' disks, each in the epoch in which the
    disk's log ends. If a node has two disks, it is unknown on which of them its process ran."""
    newest = newest_end(ends)
    if newest is None:
        return {}
    by_key = {log.key: (one, log) for one, log in members}
    examined, newest_log = by_key[newest.key]
    disks = Counter(log.key.node_id for _, log in members)
    behind = [
        one
        for one in ends
        if one.is_last
        and disks[one.key.node_id] == 1
        and one.end < newest.end
        and newest.at_ms - one.at_ms >= REGISTERING_MS
        and newest_log.batch_at(one.end - 1) in by_key[one.key][1].batches[-1:]
    ]
    if not behind:
        return {}
    lacked = list(_lacked(examined, min(one.end for one in behind)))
    if sum(batch.header.record_count for _, batch in lacked) > MAX_READ:
        return {}
    registrations = list(_registrations(examined, lacked))
    found = {}
    for own in behind:
        following = examined.batch_at(own.end)
        for node_id, offset, batch in registrations:
            is_own = node_id == own.key.node_id and offset >= own.end
            if following is None or not is_own or batch.header.leader_epoch != own.epoch:
                continue
            lacking_ms = batch.header.max_timestamp - following[1].header.max_timestamp
            if lacking_ms >= REGISTERING_MS and following[1].header.max_timestamp >= own.at_ms:
                found[own.key] = RegisteredLater(own.end, offset, lacking_ms)
    return found


def _lacked(examined: Examined, start: int) -> Iterator[tuple[SegmentFile, LocatedBatch]]:
    """The batches from an offset on that may hold a registration, each with its segment."""
    names = ("last_offset", "size_bytes", "crc_valid", "is_control")
    for segment in examined.directory.segments:
        if segment.end_offset > start:
            for batch in chosen(
                segment.scan.batches,
                names,
                lambda last, size, is_valid, is_control: (
                    (last >= start) & (size >= _LEAST_BYTES) & is_valid & (is_control == 0)
                ),
            ):
                yield segment, batch


def _registrations(
    examined: Examined, batches: Iterable[tuple[SegmentFile, LocatedBatch]]
) -> Iterator[tuple[int, int, LocatedBatch]]:
    """(node id, offset, batch) for each registration of a controller in these batches."""
    for segment, batch in batches:
        content = examined.content_of(segment)
        for record in content.whole_records(batch, Inflation(content.size)):
            try:
                message = decode(record.value or b"")
            except DataError:  # the rule undecodable-record reports it
                continue
            if isinstance(message, MetadataRecord) and message.type == _REGISTRATION:
                node_id = message.fields["controllerId"]
                assert isinstance(node_id, int), "the schema says so"
                yield node_id, record.offset, batch
