"""The keys of bronze's tables as names of columns, and values in rows of these tables. This module
is for code that runs without Spark, so it doesn't import the contracts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from operator import itemgetter
from typing import Any

from replica.model.keys import ReplicaId

REPLICA_KEYS = ("cluster_id", "node_id", "directory_id")
SNAPSHOT_KEYS = (*REPLICA_KEYS, "end_offset", "epoch", "content_sha256")
BATCH_KEYS = (*REPLICA_KEYS, "base_offset", "leader_epoch", "crc")
FINDING_KEYS = ("capture_id", "rule", "file", "position", "offset", "message")

batch_key = itemgetter(*BATCH_KEYS)
"""The key of a batch, from a row of bronze.log_batches or bronze.log_records."""
snapshot_key = itemgetter(*SNAPSHOT_KEYS)
"""The key of a snapshot, from a row of bronze.snapshots or bronze.snapshot_records."""


def replica_of(row: Mapping[str, Any]) -> ReplicaId:
    """The replica of a row that has REPLICA_KEYS."""
    return ReplicaId(row["cluster_id"], row["node_id"], row["directory_id"])


def covers(span: Mapping[str, Any], at: datetime) -> bool:
    """Whether the time is in a span of bronze.log_batches, whose ends are inclusive. An end that is
    None is open: the newest capture holds the batch."""
    return bool(span["from"] <= at and (span["to"] is None or at <= span["to"]))
