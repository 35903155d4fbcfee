"""Records as the tables keep them, back as values that can be replayed, spread by their keys.

A log is replayed in parts (replica.metadata.image.partitioning): each record belongs to a bucket by
its key, and those that every part needs are in all of them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from replica.format.control import ControlType, control_key, decode_control
from replica.metadata.image import BROADCAST, PartitionKey, ReplayedRecord, key_of
from replica.metadata.plain_reader import from_plain
from replica.metadata.reader import decode
from replica.metadata.record import UnknownRecord

SPREAD = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("bucket", pa.int32()),
        ("content_sha256", pa.string()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("leader_epoch", pa.int32()),
        ("is_control", pa.bool_()),
        ("record_type", pa.string()),
        ("record_version", pa.int32()),
        ("payload", pa.string()),
        ("value", pa.binary()),
    ]
)
"""content_sha256: of the snapshot, "" for the log; offset: in a snapshot the record's index.
payload: JSON, only where `value` is NULL."""

_CONTROL = [control.name for control in ControlType if control > ControlType.COMMIT]
_STATEFUL_CONTROL = ("KRAFT_VERSION", "KRAFT_VOTERS")


def spread(records: DataFrame, buckets: int) -> DataFrame:
    """SPREAD of the records that have state; records: SPREAD's columns but `bucket`."""
    control = F.col("record_type").isin(*_STATEFUL_CONTROL) & F.col("value").isNotNull()
    stateful = records.where(~F.col("is_control") | control)
    rows = stateful.select(
        *(
            _json_of_hidden() if name == "payload" else F.col(name)
            for name in SPREAD.names
            if name != "bucket"
        )
    )
    number = buckets

    def place(tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for table in tables:
            yield _placed(table, number)

    return rows.mapInArrow(place, from_arrow_schema(SPREAD, prefer_timestamp_ntz=False))


def is_unknown() -> Column:
    """Whether a row of bronze's records is of an api key, version or control type that nobody here
    knows (see json_text and UnknownControl)."""
    unknown = F.try_variant_get("payload", "$.apiKey", "int").isNotNull()
    return F.when(F.col("is_control"), ~F.col("record_type").isin(*_CONTROL)).otherwise(unknown)


def bucket_of(key: PartitionKey, buckets: int) -> int:
    """The same on every machine, unlike hash()."""
    return zlib.crc32("\0".join(key).encode()) % buckets


def stored_record(row: Mapping[str, Any]) -> ReplayedRecord:
    """The record of a row of SPREAD. DataError: ingest writes no such row."""
    value, version = row["value"], row["record_version"]
    if row["is_control"]:
        return decode_control(control_key(ControlType[row["record_type"]]), value)
    if value is not None:
        return decode(value)
    data = json.loads(row["payload"])
    if "apiKey" in data:
        return UnknownRecord(data["apiKey"], data["version"], data["body"])
    return from_plain(row["record_type"], -1 if version is None else version, data)


def _json_of_hidden() -> Column:
    return F.when(F.col("value").isNull(), F.to_json("payload")).alias("payload")


def _placed(table: pa.RecordBatch, buckets: int) -> pa.RecordBatch:
    rows: list[int] = []
    places: list[int] = []
    for index, row in enumerate(table.to_pylist()):
        record = stored_record(row)
        if row["record_type"] in BROADCAST and not row["is_control"]:
            rows += [index] * buckets
            places += range(buckets)
        else:
            rows.append(index)
            places.append(bucket_of(key_of(record), buckets))
    taken = pa.Table.from_batches([table]).take(pa.array(rows, pa.int64()))
    columns = {name: taken[name].combine_chunks() for name in taken.column_names}
    columns["bucket"] = pa.array(places, pa.int32())
    return pa.RecordBatch.from_arrays([columns[name] for name in SPREAD.names], schema=SPREAD)
