"""Fleets of small clusters with one replica each. Each log is made from a seed of its own."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

from replica.model.keys import METADATA_TOPIC, ZERO_UUID
from tests.bench.segments import write_cluster

PARTITIONS, CHANGES = 2_000, 3_000
"""The number of partitions of each cluster, and the number of changes. The changes are those of
tests.bench.segments.cluster_values."""


def write_fleet(folder: Path, clusters: int, size: int) -> list[Path]:
    """Metadata directories of `clusters` clusters, each with a log of `size` bytes."""
    return [write_node(folder / f"{number:03d}", number, size) for number in range(clusters)]


def write_node(node: Path, seed: int, size: int) -> Path:
    """The directory of a cluster's node 1. With the same seed, a larger log begins with a smaller
    one."""
    log = node / f"{METADATA_TOPIC}-0"
    log.mkdir(parents=True)
    lines = ("version=1", f"cluster.id={_id(f'c{seed}')}", "node.id=1")
    properties = "\n".join((*lines, f"directory.id={_id(f'd{seed}')}", ""))
    (node / "meta.properties").write_text(properties, encoding="utf-8")
    state = {"leaderId": 1, "leaderEpoch": 1, "votedId": -1}
    told = json.dumps({**state, "votedDirectoryId": ZERO_UUID, "data_version": 1})
    (log / "quorum-state").write_text(told, encoding="utf-8")
    write_cluster(log / f"{0:020d}.log", size, PARTITIONS, CHANGES, seed)
    return node


def _id(seed: str) -> str:
    return base64.urlsafe_b64encode(random.Random(seed).randbytes(16)).decode().rstrip("=")
