"""The controllers of a capture group that registered when they had more records than their logs now
have: replica.doctor.quorum.registered_later applied to rows of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipelines.cluster.cluster_tables import ClusterTables
from pipelines.cluster.rows import Row, milliseconds
from pipelines.replay.entries import stored_record
from pipelines.tables.keys import covers, replica_of
from replica.doctor.check.registered import REGISTRATION
from replica.doctor.quorum.log_ends import LogEnd
from replica.doctor.quorum.registered_later import RegisteredLater, Registration, logs_behind
from replica.errors import DataError
from replica.history.log import ReplicaLog
from replica.metadata.record import MetadataRecord
from replica.model.keys import ReplicaKey


def registered_later(
    captures: Mapping[ReplicaKey, Row],
    logs: Sequence[ReplicaLog],
    ends: Sequence[LogEnd],
    tables: ClusterTables,
) -> dict[ReplicaKey, RegisteredLater]:
    """For each controller that registered when it had more records than its log now has: its
    registration. captures: a capture of each replica, as a row of one_row_per_capture. logs: the
    logs of these captures. ends: the ends of these logs."""
    behind = logs_behind(logs, ends)
    if behind is None:
        return {}
    newest, capture = behind.newest, captures[behind.newest.key]

    def time_of(offset: int) -> int | None:
        held = newest.batch_at(offset)
        epoch = -1 if held is None else held.epoch
        rows = tables.batches_at(replica_of(capture), epoch, offset)
        for row in rows.select(["max_timestamp", "in_log"]).to_pylist():
            if any(covers(span, capture["captured_at"]) for span in row["in_log"]):
                at = row["max_timestamp"]
                return None if at is None else milliseconds(at)
        return None

    return behind.registered_later(_registrations(tables, behind.first), time_of)


def _registrations(tables: ClusterTables, low: int) -> Iterator[Registration]:
    """The registrations of controllers in the log of any replica, each once. low: the lowest
    offset."""
    found: dict[tuple[int, int], Registration] = {}
    for row in tables.records_of_type(REGISTRATION, low).to_pylist():
        place = row["offset"], row["leader_epoch"]
        names = ("is_control", "record_type", "record_version", "payload", "value")
        try:
            message = stored_record(*(row[name] for name in names))
        except DataError:  # the rule undecodable-record reports it
            continue
        if isinstance(message, MetadataRecord):
            node_id = message.fields["controllerId"]
            assert isinstance(node_id, int), "the schema says so"
            found[place] = Registration(node_id, *place)
    yield from (one for _, one in sorted(found.items()))
