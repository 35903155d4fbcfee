"""Finds the newest capture group of each cluster."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pipelines.in_memory.rows import Row, nulls_first


def newest_groups(groups: Iterable[Row]) -> set[tuple[str, str]]:
    """(cluster_id, capture_group) of each cluster's newest group. groups: rows of group_findings.

    Of groups with the same captured_at, the one with the highest ingest_seq is the newest; of those
    with the same ingest_seq, the one whose name comes first.
    """
    newest: dict[str, tuple[tuple[Any, ...], str]] = {}
    for row in sorted(groups, key=lambda row: str(row["capture_group"]), reverse=True):
        cluster, moment = row["cluster_id"], nulls_first([row["captured_at"], row["ingest_seq"]])
        if cluster not in newest or moment >= newest[cluster][0]:
            newest[cluster] = moment, row["capture_group"]
    return {(cluster, group) for cluster, (_, group) in newest.items()}
