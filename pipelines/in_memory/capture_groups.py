"""What each capture group of a cluster shows, as a row, and the order of groups in time."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from pipelines.in_memory.aggregates import grouped
from pipelines.in_memory.group_finding import finding_of_group
from pipelines.in_memory.held import ReplicaLogs
from pipelines.in_memory.rows import Row
from replica.history.log import ReplicaLog


def group_findings(cluster_id: str, captures: Iterable[Row], logs: ReplicaLogs) -> list[Row]:
    """A row for each capture group. captures: the cluster's rows of bronze.captures."""
    return [
        {
            "cluster_id": cluster_id,
            "capture_group": name,
            "captured_at": max(row["captured_at"] for row in rows),
            "ingest_seq": max(row["ingest_seq"] for row in rows),
            **finding_of_group(_newest(rows, logs)),
        }
        for name, rows in grouped(captures, itemgetter("capture_group")).items()
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


def newest_group(groups: Iterable[Row]) -> str | None:
    """The name of the newest group; None without groups. groups: rows of group_findings.

    Of groups with the same captured_at, the one with the highest ingest_seq is the newest; of those
    with the same ingest_seq, the one whose name comes first.
    """
    by_name = sorted(groups, key=itemgetter("capture_group"))
    newest = max(by_name, key=itemgetter("captured_at", "ingest_seq"), default=None)
    return None if newest is None else str(newest["capture_group"])
