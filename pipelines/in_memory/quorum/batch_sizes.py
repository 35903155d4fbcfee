"""gold.batch_sizes: how large the batches of each hour are, up to the largest one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pipelines.in_memory.aggregates import hours_of, percentile_of
from pipelines.in_memory.batches import Batches
from pipelines.in_memory.rows import Row

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
        "largest_offset": int(largest.min()),  # The first of those that are equally large.
    }
