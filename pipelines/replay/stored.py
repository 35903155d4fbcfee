"""The records of the tables as values that can be replayed.

A log is replayed in parts (replica.metadata.image.partitioning). Each record belongs to a bucket by
its key; records that every part needs are in all buckets.
"""

from __future__ import annotations

import json
import zlib

import pyarrow as pa

from replica.format.control import ControlType, control_key, decode_control
from replica.metadata.codec import decode
from replica.metadata.image.partitioning import PartitionKey
from replica.metadata.image.replay import ReplayedRecord
from replica.metadata.json_text import from_plain
from replica.metadata.record import UnknownRecord

SPREAD = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("bucket", pa.int32()),
        ("position", pa.int64()),
        ("source", pa.string()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("leader_epoch", pa.int32()),
        ("commitment", pa.string()),
        ("is_control", pa.bool_()),
        ("record_type", pa.string()),
        ("record_version", pa.int32()),
        ("payload", pa.string()),
        ("value", pa.binary()),
    ]
)
"""source: the branch or snapshot that the record is of (module parts). position: the log offset at
which the part needs it. offset: in a snapshot the record's index. payload: JSON, set only where
`value` is NULL."""

KNOWN_CONTROL = [control.name for control in ControlType if control > ControlType.COMMIT]
STATEFUL_CONTROL = ("KRAFT_VERSION", "KRAFT_VOTERS")
"""The control records that this release knows, and those of them that are part of the state."""


def bucket_of(key: PartitionKey, buckets: int) -> int:
    """The bucket of a key, which is the same on every machine, unlike one by hash().

    The keys of topics are spread over all buckets. Another family, of which a log has fewer
    records, is in one bucket, which the types of its records name: they need not be decoded.
    """
    spread = key if key.family == "topic" else PartitionKey(key.family, "")
    return zlib.crc32("\0".join(spread).encode()) % buckets


def stored_record(
    is_control: bool,
    record_type: str,
    record_version: int | None,
    payload: str | None,
    value: bytes | None,
) -> ReplayedRecord:
    """The record of a row, from the last columns of SPREAD. DataError: ingest writes no
    such row."""
    if value is not None:
        if is_control:
            return decode_control(control_key(ControlType[record_type]), value)
        return decode(value)
    data = json.loads(payload or "")
    if "apiKey" in data:
        return UnknownRecord(data["apiKey"], data["version"], data["body"])
    return from_plain(record_type, -1 if record_version is None else record_version, data)
