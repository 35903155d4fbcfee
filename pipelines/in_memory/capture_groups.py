"""What each capture group of a cluster shows, as a row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from pipelines.in_memory.group_finding import finding_of_group
from pipelines.in_memory.held import ReplicaLogs
from pipelines.in_memory.rows import Row
from replica.history.log import ReplicaLog


def group_findings(captures: Iterable[Row], logs: ReplicaLogs) -> list[Row]:
    """A row for each capture group; captures: rows of bronze.captures."""
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in captures:
        groups[row["cluster_id"], row["capture_group"]].append(row)
    return [
        {
            "cluster_id": cluster_id,
            "capture_group": name,
            "captured_at": max(row["captured_at"] for row in rows),
            "ingest_seq": max(row["ingest_seq"] for row in rows),
            **finding_of_group(_newest(rows, logs)),
        }
        for (cluster_id, name), rows in groups.items()
    ]


def _newest(rows: Iterable[Row], logs: ReplicaLogs) -> list[tuple[str, ReplicaLog]]:
    """(capture_id, log) of each replica, in the order of their keys. Where a replica occurs twice,
    the newest capture counts."""
    newest = {
        logs.key(row["capture_id"]): row["capture_id"]
        for row in sorted(rows, key=lambda row: row["captured_at"])
    }
    captures = [capture_id for _, capture_id in sorted(newest.items())]
    return [*zip(captures, logs.of_group(captures), strict=True)]


def moment(group: Row) -> tuple[Any, ...]:
    """The values by which groups are ordered in time."""
    return group["captured_at"], group["ingest_seq"], group["capture_group"]
