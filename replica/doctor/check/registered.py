"""Finds controllers whose registrations are newer than their own logs (see
replica.doctor.quorum.registered_later)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from replica.doctor.check.examined import Examined
from replica.doctor.quorum.log_ends import LogEnd
from replica.doctor.quorum.registered_later import (
    RegisteredLater,
    Registration,
    logs_behind,
)
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
REGISTRATION = "REGISTER_CONTROLLER_RECORD"


def registered_later(
    members: Sequence[tuple[Examined, ReplicaLog]], ends: Sequence[LogEnd]
) -> dict[ReplicaKey, RegisteredLater]:
    """The registrations that controllers made when their logs were longer than the logs that are on
    their disks now, by replica."""
    behind = logs_behind([log for _, log in members], ends)
    if behind is None:
        return {}
    examined = next(one for one, log in members if log is behind.newest)
    lacked = list(_lacked(examined, behind.first))
    if sum(batch.header.record_count for _, batch in lacked) > MAX_READ:
        return {}

    def time_of(offset: int) -> int | None:
        found = examined.batch_at(offset)
        return None if found is None else found[1].header.max_timestamp

    return behind.registered_later(_registrations(examined, lacked), time_of)


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
) -> Iterator[Registration]:
    """The registrations of controllers in these batches."""
    for segment, batch in batches:
        content = examined.content_of(segment)
        for record in content.whole_records(batch, Inflation(content.size)):
            try:
                message = decode(record.value or b"")
            except DataError:  # the rule undecodable-record reports it
                continue
            if isinstance(message, MetadataRecord) and message.type == REGISTRATION:
                node_id = message.fields["controllerId"]
                assert isinstance(node_id, int), "the schema says so"
                yield Registration(node_id, record.offset, batch.header.leader_epoch)
