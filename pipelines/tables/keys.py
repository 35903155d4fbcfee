"""Keys of bronze's tables as names of columns, for code that runs without Spark.

The contracts in pipelines.tables.bronze have the columns; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from replica.model.keys import ReplicaId

REPLICA_KEYS = ("cluster_id", "node_id", "directory_id")
SNAPSHOT_KEYS = (*REPLICA_KEYS, "end_offset", "epoch", "content_sha256")
BATCH_KEYS = (*REPLICA_KEYS, "base_offset", "leader_epoch", "crc")
FINDING_KEYS = ("capture_id", "rule", "file", "position", "offset", "message")


def replica_of(row: Mapping[str, Any]) -> ReplicaId:
    """The replica of a row that has REPLICA_KEYS."""
    return ReplicaId(row["cluster_id"], row["node_id"], row["directory_id"])
