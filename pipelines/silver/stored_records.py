"""Records as the tables keep them, back as values that can be replayed, spread by their keys.

A log is replayed in parts (replica.metadata.image.partitioning): each record belongs to a bucket by
its key, and those that every part needs are in all of them.
"""

from __future__ import annotations

import json
import zlib

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from replica.format.control import ControlType, control_key, decode_control
from replica.metadata.image import BROADCAST, KEY_FIELDS, PartitionKey, ReplayedRecord
from replica.metadata.plain_reader import from_plain
from replica.metadata.reader import decode
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
"""source: whose record it is (see replay_parts); position: the offset of the log at which it is
wanted; offset: in a snapshot the record's index. payload: JSON, only where `value` is NULL."""

_CONTROL = [control.name for control in ControlType if control > ControlType.COMMIT]
_STATEFUL_CONTROL = ("KRAFT_VERSION", "KRAFT_VOTERS")


def spread(records: DataFrame, buckets: int) -> DataFrame:
    """SPREAD of the records that have state, each in the bucket of its key, and in every bucket
    where all need it; records: SPREAD's columns but `bucket`."""
    control = F.col("record_type").isin(*_STATEFUL_CONTROL) & F.col("value").isNotNull()
    known = F.col("record_type").isin(*KEY_FIELDS, *BROADCAST)
    stateful = records.where(F.when(F.col("is_control"), control).otherwise(known | is_unknown()))
    everywhere = F.col("record_type").isin(*BROADCAST) & ~F.col("is_control")
    every = F.sequence(F.lit(0), F.lit(buckets - 1))
    places = F.when(everywhere, every).otherwise(F.array(_bucket(buckets)))
    return stateful.withColumn("bucket", F.explode(places)).select(
        *(_json_of_hidden() if name == "payload" else F.col(name) for name in SPREAD.names)
    )


def _bucket(buckets: int) -> Column:
    """bucket_of(key_of(record)), by the record's fields in the VARIANT."""
    types_of: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for record_type, fields in KEY_FIELDS.items():
        types_of.setdefault(fields, []).append(record_type)
    choice = F.lit(None).cast("string")
    for (family, names), record_types in types_of.items():
        # NULL, and so the bucket of records without a key, where the version isn't known here
        values = [F.try_variant_get("payload", f"$.{name}", "string") for name in names]
        parts = [part for value in values for part in (F.lit("\0"), value)] or [F.lit("\0")]
        key = F.concat(F.lit(family), *parts)
        choice = F.when(F.col("record_type").isin(*record_types), key).otherwise(choice)
    text = F.coalesce(choice, F.lit("\0".join(PartitionKey("", ""))))
    return F.pmod(F.crc32(text.cast("binary")), F.lit(buckets)).cast("int")


def is_unknown() -> Column:
    """Whether a row of bronze's records is of an api key, version or control type that nobody here
    knows (see json_text and UnknownControl)."""
    unknown = F.try_variant_get("payload", "$.apiKey", "int").isNotNull()
    return F.when(F.col("is_control"), ~F.col("record_type").isin(*_CONTROL)).otherwise(unknown)


def bucket_of(key: PartitionKey, buckets: int) -> int:
    """The same on every machine, unlike hash()."""
    return zlib.crc32("\0".join(key).encode()) % buckets


def stored_record(
    is_control: bool,
    record_type: str,
    record_version: int | None,
    payload: str | None,
    value: bytes | None,
) -> ReplayedRecord:
    """The record of a row, by SPREAD's last columns. DataError: ingest writes no such row."""
    if value is not None:
        if is_control:
            return decode_control(control_key(ControlType[record_type]), value)
        return decode(value)
    data = json.loads(payload or "")
    if "apiKey" in data:
        return UnknownRecord(data["apiKey"], data["version"], data["body"])
    return from_plain(record_type, -1 if record_version is None else record_version, data)


def _json_of_hidden() -> Column:
    return F.when(F.col("value").isNull(), F.to_json("payload")).alias("payload")
