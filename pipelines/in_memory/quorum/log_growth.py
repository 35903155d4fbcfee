"""gold.log_growth: what the metadata log grows by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from pipelines.in_memory.aggregates import grouped, hour_of, rounded
from pipelines.in_memory.control import batch_key
from pipelines.in_memory.rows import BranchBatch, Row

# What a record takes apart from its value: its length, attributes, two deltas, the lengths of key
# and value, and the number of headers, a byte each at least.
_ENVELOPE_BYTES = 7

_Kind = tuple[str, datetime | None, str]
"""cluster_id, hour, record_type."""


def log_growth(branch: Iterable[BranchBatch], records: Iterable[Row]) -> Iterator[Row]:
    """The table's rows, from the batches of the agreed branch and bronze.log_records.

    A batch's bytes are spread over its records by their length, so those of a table add up to the
    log's.
    """
    sizes = {batch_key(batch._asdict()): batch.size_bytes for batch in branch}
    by_batch = grouped(records, batch_key)
    counts: dict[_Kind, int] = defaultdict(int)
    shares: dict[_Kind, float] = defaultdict(float)
    # Sums of floats depend on the order, and Spark adds them in the order of the batches' keys.
    for key in sorted(sizes.keys() & by_batch.keys()):
        lengths = _lengths(by_batch[key])
        whole = float(sum(map(sum, lengths.values())))
        for kind, of_kind in lengths.items():
            counts[kind] += len(of_kind)
            shares[kind] += float(sizes[key] * sum(of_kind)) / whole
    for kind, count in counts.items():
        cluster, hour, record_type = kind
        yield {
            "cluster_id": cluster,
            "hour": hour,
            "record_type": record_type,
            "records": count,
            "bytes": rounded(shares[kind]),
        }


def _lengths(records: Sequence[Row]) -> dict[_Kind, list[int]]:
    """How long the records of a batch are, bytes, by their kinds."""
    found: dict[_Kind, list[int]] = defaultdict(list)
    for row in records:
        kind = row["cluster_id"], hour_of(row["timestamp"]), row["record_type"]
        found[kind].append(len(row["value"] or b"") + _ENVELOPE_BYTES)
    return found
