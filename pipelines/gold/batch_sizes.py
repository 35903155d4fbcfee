"""gold.batch_sizes: the sizes of the batches of each hour."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from pipelines.cluster.branch_facts import BranchFacts
from pipelines.cluster.rows import Row, from_microseconds


def batch_sizes(cluster_id: str, facts: BranchFacts) -> Iterator[Row]:
    """Rows of gold.batch_sizes. facts: the facts of the whole agreed branch."""
    for hour, rows in groupby(facts.sizes.to_pylist(), itemgetter("hour")):
        at = None if hour is None else from_microseconds(hour)
        yield {"cluster_id": cluster_id, "hour": at, **_sizes([*rows])}


def _sizes(rows: list[Row]) -> Row:
    """The sizes of the batches of an hour. rows: ascending by size."""
    sizes = np.array([row["size_bytes"] for row in rows])
    upto = np.cumsum([row["batches"] for row in rows])
    count = int(upto[-1])
    return {
        "batches": count,
        "records": sum(row["records"] for row in rows),
        "bytes": sum(row["size_bytes"] * row["batches"] for row in rows),
        **{
            # the smallest size that is at least as large as this part of all sizes
            f"{name}_bytes": int(sizes[np.searchsorted(upto, np.ceil(part * count))])
            for name, part in PERCENTILES.items()
        },
        "max_bytes": rows[-1]["size_bytes"],
        "max_records": max(row["most_records"] for row in rows),
        "largest_offset": rows[-1]["first"],  # the first of the largest batches
    }


PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
