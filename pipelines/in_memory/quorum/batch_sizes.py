"""gold.batch_sizes: how large batches are, to the tail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pipelines.in_memory.aggregates import grouped, hour_of, percentile_of
from pipelines.in_memory.rows import BranchBatch, Row

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def batch_sizes(branch: Iterable[BranchBatch]) -> Iterator[Row]:
    """The table's rows, from the batches of the agreed branch."""
    by_hour = grouped(branch, lambda batch: (batch.cluster_id, hour_of(batch.max_timestamp)))
    for (cluster, hour), batches in by_hour.items():
        yield {"cluster_id": cluster, "hour": hour, **_sizes(batches)}


def _sizes(batches: Sequence[BranchBatch]) -> Row:
    sizes = sorted(batch.size_bytes for batch in batches)
    # the first of those that are equally large
    first_largest = max(batches, key=lambda batch: (batch.size_bytes, -batch.base_offset))
    return {
        "batches": len(batches),
        "records": sum(batch.record_count for batch in batches),
        "bytes": sum(sizes),
        **{f"{name}_bytes": percentile_of(sizes, part) for name, part in PERCENTILES.items()},
        "max_bytes": sizes[-1],
        "max_records": max(batch.record_count for batch in batches),
        "largest_offset": first_largest.base_offset,
    }
