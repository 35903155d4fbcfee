"""gold.log_growth: how many records and bytes of each type the metadata log got in each hour."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.cluster.branch_facts import BranchFacts, rounded_bytes
from pipelines.cluster.rows import Row, from_microseconds


def log_growth(cluster_id: str, facts: BranchFacts) -> Iterator[Row]:
    """Rows of gold.log_growth. A batch's bytes are spread over its records by their lengths, so the
    bytes of all rows add up to the bytes of the log. facts: the facts of the whole agreed
    branch."""
    for row in facts.growth.to_pylist():
        yield {
            "cluster_id": cluster_id,
            "hour": None if row["hour"] is None else from_microseconds(row["hour"]),
            "record_type": row["record_type"],
            "records": row["records"],
            "bytes": rounded_bytes(row["bytes"], row["fraction"]),
        }
