"""Rows of the record tables made by hand, as ingest would write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pipelines.replay.plan import PlannedSnapshot
from replica.format.control import encode_control, type_name
from replica.metadata.image import ReplayedRecord
from replica.metadata.json_text import to_plain
from replica.metadata.record import MetadataRecord, UnknownRecord
from replica.metadata.variant import encode_variant
from replica.metadata.writer import encode

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


def branch(
    records: Iterable[ReplayedRecord], first: int = 0, *, cluster_id: str = CLUSTER
) -> list[Row]:
    """A record for each offset from `first` on, N seconds old at offset N, all proven."""
    return [
        {
            **{"cluster_id": cluster_id, "offset": offset, "leader_epoch": 1, "crc": 0},
            **{"commitment": "proven", "timestamp": at(offset)},
            **content(record),
        }
        for offset, record in enumerate(records, first)
    ]


def tail(
    records: Iterable[ReplayedRecord], position: int, tail_id: str = "capture", node_id: int = 2
) -> list[Row]:
    """What a log of epoch 1 held from `position` on, off the branch."""
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
    """(the row of bronze.snapshots, those of bronze.snapshot_records)."""
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
