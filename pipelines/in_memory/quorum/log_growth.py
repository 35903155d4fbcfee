"""gold.log_growth: the records by which the metadata log grows; and gold.batch_sizes: the sizes of
the batches of each hour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.in_memory.aggregates import hours_of, percentile_of, rounded
from pipelines.in_memory.batches import Batches
from pipelines.in_memory.rows import Row
from pipelines.tables.keys import BATCH_KEYS

# The bytes of a record besides its value: its length, attributes, two deltas, the lengths of key
# and value, and the number of headers, each of one byte at least.
ENVELOPE_BYTES = 7

_ID = BATCH_KEYS[1:]
LENGTHS = pa.schema([
    ("node_id", pa.int32()), ("directory_id", pa.string()), ("base_offset", pa.int64()),
    ("leader_epoch", pa.int32()), ("crc", pa.int64()),
    ("hour", pa.timestamp("us", tz="UTC")), ("record_type", pa.string()),
    ("records", pa.int64()), ("length", pa.int64()),
])  # fmt: skip
"""The records of a batch of one replica with the same hour and type: how many they are, and their
bytes."""


def lengths_of(records: pa.Table) -> pa.Table:
    """The lengths of the records, as rows with the columns LENGTHS. records: the cluster's rows of
    bronze.log_records."""
    sizes = pc.fill_null(pc.binary_length(records["value"]), 0).cast(pa.int64())
    rows = records.select([*_ID, "record_type"])
    rows = rows.append_column("hour", pc.floor_temporal(records["timestamp"], unit="hour"))
    rows = rows.append_column("length", pc.add(sizes, ENVELOPE_BYTES))
    kinds = rows.group_by([*_ID, "hour", "record_type"])
    found = kinds.aggregate([("length", "count"), ("length", "sum")])
    named = {"length_count": "records", "length_sum": "length"}
    found = found.rename_columns([named.get(name, name) for name in found.column_names])
    return found.select(LENGTHS.names).cast(LENGTHS)


def log_growth(cluster_id: str, branch: Batches, lengths: pa.Table) -> Iterator[Row]:
    """The table's rows, from the batches of the agreed branch and the cluster's LENGTHS.

    A batch's bytes are spread over its records by their lengths, so a table's bytes add up to the
    log's.
    """
    ids = branch.ids().append_column("place", pa.array(np.arange(len(branch))))
    # A sum of floats depends on the order of its parts, so these are ordered by the batches' keys.
    found = lengths.join(ids, list(_ID), join_type="inner").sort_by(
        [(name, "ascending") for name in (*_ID, "hour", "record_type")]
    )
    place, length = (found[name].to_numpy() for name in ("place", "length"))
    whole = np.zeros(len(branch), np.int64)
    np.add.at(whole, place, length)
    share = (branch.size_bytes[place] * length).astype(float) / whole[place]
    kinds = found.select(["hour", "record_type"]).to_pylist()
    counts: dict[tuple[object, ...], int] = defaultdict(int)
    shares: dict[tuple[object, ...], float] = defaultdict(float)
    for row, records, part in zip(kinds, found["records"].to_pylist(), share.tolist(), strict=True):
        kind = tuple(row.values())
        counts[kind] += records
        shares[kind] += part
    for kind, count in counts.items():
        yield {
            "cluster_id": cluster_id,
            **dict(zip(("hour", "record_type"), kind, strict=True)),
            "records": count,
            "bytes": rounded(shares[kind]),
        }


PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def batch_sizes(cluster_id: str, branch: Batches) -> Iterator[Row]:
    """The table's rows, from the batches of the agreed branch."""
    for hour, places in hours_of(branch.max_timestamp):
        yield {"cluster_id": cluster_id, "hour": hour, **_sizes(branch.at(places))}


def _sizes(batches: Batches) -> Row:
    sizes = np.sort(batches.size_bytes)
    largest = batches.base_offset[batches.size_bytes == sizes[-1]]
    return {
        "batches": len(batches),
        "records": int(batches.record_count.sum()),
        "bytes": int(sizes.sum()),
        **{f"{name}_bytes": percentile_of(sizes, part) for name, part in PERCENTILES.items()},
        "max_bytes": int(sizes[-1]),
        "max_records": int(batches.record_count.max()),
        "largest_offset": int(largest.min()),  # the first one, where several are the largest
    }
