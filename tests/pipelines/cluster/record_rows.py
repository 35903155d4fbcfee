"""Rows of the record tables made by hand, as ingest would write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.cluster.branch import BranchRange, LostTail
from pipelines.cluster.cluster_tables import HeldTables
from pipelines.replay.plan import PlannedSnapshot, planned, surveyed, whole_snapshots
from pipelines.replay.reading import BranchLog, BranchReader, Replayed, has_unknown
from pipelines.replay.reading import replayed as replayed_log
from pipelines.silver.committed_log import AgreedBranch
from pipelines.tables.bronze import LOG_BATCHES, LOG_RECORDS, SNAPSHOT_RECORDS
from replica.format.control import encode_control, type_name
from replica.metadata.codec import encode
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.json_text import to_plain
from replica.metadata.record import MetadataRecord, UnknownRecord
from replica.metadata.variant import encode_variant
from replica.model.keys import ReplicaId
from tests.pipelines.cluster.batch_rows import log_batches

Row = dict[str, Any]

CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"
START = datetime(1970, 1, 1, tzinfo=UTC)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


def content(record: ReplayedRecord, *, is_redacted: bool = False) -> Row:
    """is_control, record_type, record_version, payload and value; a redacted record has none."""
    if not isinstance(record, MetadataRecord | UnknownRecord):
        value = encode_control(record)[1]
        return _content(True, type_name(record), None, None, value)
    raw, metadata = encode_variant(to_plain(record))
    payload = {"value": raw, "metadata": metadata}
    value = None
    if not is_redacted and isinstance(record, MetadataRecord):
        value = encode(record)
    elif not is_redacted:
        value = bytes([1, record.api_key, record.version])
    return _content(False, record.type, record.version, payload, value)


def _content(
    is_control: bool, record_type: str, version: int | None, payload: Row | None, value: Any
) -> Row:
    return {
        "is_control": is_control,
        "record_type": record_type,
        "record_version": version,
        "payload": payload,
        "value": value,
    }


def log_records(rows: Iterable[Row]) -> pa.Table:
    """Rows of bronze.log_records, in which other columns are NULL."""
    return pa.Table.from_pylist([*rows], LOG_RECORDS.arrow_schema)


def snapshot_records(rows: Iterable[Row]) -> pa.Table:
    """Rows of bronze.snapshot_records, in which other columns are NULL."""
    return pa.Table.from_pylist([*rows], SNAPSHOT_RECORDS.arrow_schema)


def committed(rows: Iterable[Row], cluster_id: str = CLUSTER) -> AgreedBranch:
    """The branch that has the entries of these rows, with their commitments."""
    rows = sorted(rows, key=lambda row: row["offset"])
    names = ("offset", "leader_epoch", "crc")
    offsets, epochs, crcs = (np.array([row[name] for row in rows], np.int64) for name in names)
    is_proven = np.array([row["commitment"] == "proven" for row in rows], bool)
    return AgreedBranch(offsets, offsets + 1, epochs, crcs, is_proven, cluster_id)


def replayed(
    rows: Sequence[Row],
    snapshots: Iterable[Row] = (),
    in_snapshots: Iterable[Row] = (),
    lost: Sequence[Row] = (),
    *,
    cluster_id: str = CLUSTER,
) -> Replayed:
    """The replay of a log whose agreed branch has these rows. lost: from `tail`."""
    of_branch = [{**_OWNER, **row, "base_offset": row["offset"]} for row in rows]
    batches = [{**row, "last_offset": row["offset"]} for row in of_branch]
    tails = [*_tails(lost)]
    batches += [{**row, "last_offset": tail.last_offset} for tail, row in tails]
    tables = HeldTables(
        cluster_id,
        {
            LOG_BATCHES: log_batches(batches),
            LOG_RECORDS: log_records([*of_branch, *lost]),
            SNAPSHOT_RECORDS: snapshot_records(in_snapshots),
        },
    )
    agreed, reader = committed(rows, cluster_id), BranchReader(tables)
    pieces = (tuple(_ranges(agreed)),) if rows else ()
    log = BranchLog(pieces, tuple(tail for tail, _ in tails), (*whole_snapshots(snapshots),))
    known = [surveyed(reader.records(piece).rows) for piece in pieces]
    partial = [one.content_sha256 for one in log.snapshots if has_unknown(reader, one)]
    return replayed_log(reader, log, planned(agreed, known, log.snapshots, partial))


_OWNER = {"cluster_id": CLUSTER, "node_id": 1, "directory_id": "d"}


def _ranges(agreed: AgreedBranch) -> Iterator[BranchRange]:
    """A range for each record, whose batch has only this record."""
    columns = agreed.low, agreed.high, agreed.leader_epoch, agreed.crc, agreed.is_proven
    owner = ReplicaId(*_OWNER.values())
    for low, high, epoch, crc, is_proven in zip(*(one.tolist() for one in columns), strict=True):
        yield BranchRange(low, high, low, high, epoch, crc, is_proven, owner, START)


def _tails(lost: Sequence[Row]) -> Iterator[tuple[LostTail, Row]]:
    """(tail, a record of its batch) for each tail."""
    for row in {row["tail_id"]: row for row in lost}.values():
        last = max(one["offset"] for one in lost)
        owner = ReplicaId(CLUSTER, row["node_id"], row["directory_id"])
        ranges = ((row["base_offset"], last, row["leader_epoch"]),)
        names = ("position", "tail_id", "commitment")
        yield LostTail(*(row[name] for name in names), owner, START, ranges, last), row


def branch(records: Iterable[ReplayedRecord], first: int = 0) -> list[Row]:
    """A record for each offset from `first` on, N seconds old at offset N, all proven."""
    return [
        {
            **{"cluster_id": CLUSTER, "offset": offset, "leader_epoch": 1, "crc": 0},
            **{"commitment": "proven", "timestamp": at(offset)},
            **content(record),
        }
        for offset, record in enumerate(records, first)
    ]


def tail(
    records: Iterable[ReplayedRecord], position: int, tail_id: str = "capture", node_id: int = 2
) -> list[Row]:
    """The records that a log of epoch 1 held from `position` on beside the branch."""
    return [
        {
            **{"position": position, "tail_id": tail_id, "commitment": "superseded"},
            **{"node_id": node_id, "directory_id": "d", "base_offset": position},
            **row,
        }
        for row in ({**one, "commitment": "superseded"} for one in branch(records, position))
    ]


def snapshot(
    planned: PlannedSnapshot,
    records: Sequence[ReplayedRecord],
    *,
    node_id: int = 1,
    is_whole: bool = True,
) -> tuple[Row, list[Row]]:
    """(the row of bronze.snapshots, its rows of bronze.snapshot_records)."""
    key = {
        **{"cluster_id": CLUSTER, "node_id": node_id, "directory_id": f"d{node_id}"},
        **{"end_offset": planned.end_offset, "epoch": planned.epoch},
        "content_sha256": planned.content_sha256,
    }
    time = None if planned.timestamp_us is None else at(planned.timestamp_us // 1_000_000)
    row = {**key, "is_whole": is_whole, "last_contained_log_timestamp": time}
    rows = [
        {**key, "index": index, "timestamp": time, **content(record)}
        for index, record in enumerate(records)
    ]
    return row, rows
