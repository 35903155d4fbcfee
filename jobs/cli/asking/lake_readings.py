"""The records in a lake's newest captures that a release of Kafka can't read."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from jobs.cli.asking.lake_history import RECORDS, ClusterHistory
from pipelines.dialects import DATA_FUSION, Sql
from pipelines.tables.keys import REPLICA_KEYS, covers, replica_of
from replica.doctor.check.readable import first_of_each, sought_types, unread_record
from replica.doctor.preflight.downgrading import NodeReading
from replica.format.control import ControlType
from replica.format.record import Record
from replica.format.snapshot import SnapshotState
from replica.metadata.changes.readers import Reader, reader_of
from replica.metadata.changes.unread import UnreadPlace, unread_quorum_state, unread_type
from replica.metadata.records import RECORDS as TYPES
from replica.metadata.records import RECORDS_BY_NAME

NOT_JUDGED = (
    "bootstrap.checkpoint of each node has to be readable too: a lake doesn't hold this file"
)
_KEY = struct.Struct(">hh")

Row = Mapping[str, Any]


def readings_in(history: ClusterHistory, release: str) -> tuple[NodeReading, ...]:
    """For each node, what the release can't read of its newest capture; sorted by node."""
    reader = reader_of(release)
    captures = _newest_captures(history)
    snapshots = {one["capture_id"]: _newest_snapshot(history, one) for one in captures}
    in_logs = _in_logs(history, reader)
    query = f"SELECT capture_id, quorum_version FROM bronze.replica_state WHERE {history.mine()}"
    states = {row["capture_id"]: row["quorum_version"] for row in history.queries.named_rows(query)}
    found = []
    for one in captures:
        snapshot = snapshots[one["capture_id"]]
        places = [
            *_of_state(reader, states.get(one["capture_id"])),
            *(() if snapshot is None else _in_snapshot(history, reader, snapshot)),
            *_of_log(reader, one, in_logs, 0 if snapshot is None else snapshot["end_offset"]),
        ]
        is_whole = not one["uncovered"]
        reading = NodeReading(one["node_id"], one["source"], first_of_each(places), is_whole)
        found.append(reading)
    return tuple(found)


def _newest_captures(history: ClusterHistory) -> list[Row]:
    """For each node, the row of its newest capture that is no fragment and has a log; sorted by
    node."""
    names = "node_id, directory_id, cluster_id, capture_id, captured_at, source, uncovered"
    query = (
        f"SELECT {names}, ingest_seq FROM bronze.captures WHERE {history.mine()} "
        "AND NOT is_fragment AND capture_id NOT IN (SELECT capture_id FROM bronze.findings WHERE "
        "rule = 'never-started')"
    )
    rows = sorted(history.queries.named_rows(query), key=itemgetter("captured_at", "ingest_seq"))
    newest = {row["node_id"]: row for row in rows}
    return [row for _, row in sorted(newest.items())]


def _newest_snapshot(history: ClusterHistory, capture: Row) -> Row | None:
    """The snapshot with which the capture's node starts; None where it has none."""
    query = (
        "SELECT end_offset, epoch, content_sha256, captures FROM bronze.snapshots WHERE "
        f"{_mine(history, capture)} AND is_whole "
        f"AND state = {DATA_FUSION.literal(SnapshotState.COMPLETE.value)}"
    )
    held = (
        row
        for row in history.queries.named_rows(query)
        if capture["capture_id"] in (row["captures"] or ())
    )
    return max(held, key=itemgetter("end_offset", "epoch"), default=None)


def _mine(history: ClusterHistory, row: Row) -> Sql:
    directory = DATA_FUSION.literal(row["directory_id"])
    return f"{history.mine()} AND node_id = {row['node_id']:d} AND directory_id = {directory}"


def _told(reader: Reader, table: Sql = "") -> Sql:
    """The condition, in SQL, for records of the types that the release may be unable to read.
    reader: the release. table: the prefix of the columns."""
    sought = sought_types(reader)
    others = DATA_FUSION.literals(one.name for one in TYPES if one.name not in sought)
    return f"({table}is_control OR {table}record_type NOT IN ({others}))"


def _in_logs(history: ClusterHistory, reader: Reader) -> list[Row]:
    """The records of all replicas that the release may be unable to read, each with the times at
    which the replica's log held it."""
    batch = ("base_offset", "leader_epoch", "crc")
    same = " AND ".join(f"b.{name} = r.{name}" for name in (*REPLICA_KEYS, *batch))
    query = (
        'SELECT r.cluster_id, r.node_id, r.directory_id, r."offset", r.is_control, r.record_type, '
        f"r.record_version, r.value, b.in_log FROM {RECORDS} r JOIN bronze.log_batches b ON {same} "
        f'WHERE {history.mine("r.")} AND {_told(reader, "r.")} ORDER BY r."offset"'
    )
    return [*history.queries.named_rows(query)]


def _of_state(reader: Reader, version: int | None) -> Iterator[UnreadPlace]:
    unread = None if version is None else unread_quorum_state(reader, version)
    if unread is not None:
        yield UnreadPlace(unread, "")


def _of_log(reader: Reader, capture: Row, records: list[Row], start: int) -> Iterator[UnreadPlace]:
    """What the release can't read in the log of one capture. records: the records of all logs that
    the release may be unable to read. start: the end (exclusive) of the capture's newest snapshot;
    0 without a snapshot."""
    for row in records:
        is_held = replica_of(row) == replica_of(capture) and any(
            covers(span, capture["captured_at"]) for span in row["in_log"]
        )
        if is_held:
            for place in _places(reader, row):
                yield replace(place, offset=row["offset"], at_start=row["offset"] >= start)


def _in_snapshot(history: ClusterHistory, reader: Reader, snapshot: Row) -> Iterator[UnreadPlace]:
    content = DATA_FUSION.literal(snapshot["content_sha256"])
    query = (
        'SELECT is_control, record_type, record_version, value, min("index") AS first FROM '
        f"bronze.snapshot_records WHERE {history.mine()} AND content_sha256 = {content} "
        f"AND {_told(reader)} GROUP BY is_control, record_type, record_version, value "
        "ORDER BY first"
    )
    for row in history.queries.named_rows(query):
        yield from _places(reader, row)


def _places(reader: Reader, row: Row) -> Iterator[UnreadPlace]:
    """The place of a record that the release can't read; none where it can."""
    name, value = row["record_type"], row["value"]
    unread = None
    if value is None:  # it holds a secret, or can't be decoded
        if name in RECORDS_BY_NAME and row["record_version"] is not None:
            newest = reader.records.get(name)
            unread = unread_type(reader, name, row["record_version"], newest)
    elif not row["is_control"]:
        unread = unread_record(reader, Record(0, 0, None, value), is_control=False)
    elif name in ControlType.__members__:
        key = _KEY.pack(0, ControlType[name])
        unread = unread_record(reader, Record(0, 0, key, value), is_control=True)
    if unread is not None:
        yield UnreadPlace(unread, "")
