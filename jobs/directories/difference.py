"""The comparison of two directories' logs, as a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from replica.check.examined import Examined, examine, replica_log
from replica.check.partition import partition_of
from replica.errors import UsageError
from replica.format.discovery import DirectoryPath, discover
from replica.history.commitment import Losses, classify_compared, compare_group, losses
from replica.history.divergence import Comparison, Divergence, diverge
from replica.history.log import ReplicaLog
from replica.model.keys import ReplicaKey
from replica.scan.file_room import FileRoom


@dataclass(frozen=True)
class LogDifference:
    """Two replicas, the relation of their logs, and what one of them would lose.

    same_replica: one replica at two moments. Then log_b has a made-up key.
    """

    a: Examined
    b: Examined
    log_a: ReplicaLog
    log_b: ReplicaLog
    same_replica: bool
    comparison: Comparison
    divergence: Divergence
    losses: Losses | None


def compare_directories(a: Examined, b: Examined) -> LogDifference:
    """Compare two directories. Raises UsageError where they are known to belong to different
    clusters or partitions, or to a partition that no quorum replicates."""
    _refuse_others(a, b)
    if a.replica and b.replica and a.replica.cluster_id != b.replica.cluster_id:
        raise UsageError(
            f"{a.shown} is of cluster {a.replica.cluster_id}, {b.shown} of cluster "
            f"{b.replica.cluster_id}: diff compares replicas of one cluster"
        )
    log_a, log_b = replica_log(a, "A"), replica_log(b, "B")
    same = log_a.key == log_b.key
    if same:
        # A group holds each replica once. A key that no voter set names adds no proof.
        key = ReplicaKey(log_b.key.node_id, f"{log_b.key.directory_id} (B)")
        log_b = replace(log_b, key=key)
    group = compare_group((log_a, log_b))
    comparison = group.between(log_a.key, log_b.key)
    divergence = diverge(log_a, log_b, comparison)
    lost = losses(divergence, classify_compared(group))
    return LogDifference(a, b, log_a, log_b, same, comparison, divergence, lost)


def _refuse_others(a: Examined, b: Examined) -> None:
    partitions = (partition_of(a), partition_of(b))
    for one, partition in zip((a, b), partitions, strict=True):
        if not partition.is_of_a_quorum:
            raise UsageError(
                f"{one.shown}: {partition.what}: no rule of KRaft says which replica truncates"
            )
    if partitions[0].key != partitions[1].key:
        raise UsageError(
            f"{a.shown} is partition {partitions[0].shown}, {b.shown} partition "
            f"{partitions[1].shown}: diff compares replicas of one partition"
        )


def as_row(difference: LogDifference) -> dict[str, Any]:
    """The fields of gold.divergence_points that exist without a lake, for A and B in the given
    order."""
    divergence, lost = difference.divergence, difference.losses
    a, b = difference.a.replica, difference.b.replica
    owner = a or b
    loser = divergence.truncating
    return {
        "cluster_id": None if owner is None else owner.cluster_id,
        "node_a": None if a is None else a.node_id,
        "directory_a": None if a is None else a.directory_id,
        "node_b": None if b is None else b.node_id,
        "directory_b": None if b is None else b.directory_id,
        "relation": divergence.relation.value,
        "divergence_offset": divergence.divergence_offset,
        "epoch_a": divergence.epoch_a,
        "epoch_b": divergence.epoch_b,
        "truncating_node": None if loser is None or loser.node_id < 0 else loser.node_id,
        "truncation_offset": divergence.truncation_offset,
        "fetch_rounds": divergence.fetch_rounds,
        "draft_fetch_rounds": divergence.draft_fetch_rounds,
        "records_lost": divergence.records_lost,
        "committed_lost": None if lost is None else lost.committed,
        "unproven_lost": None if lost is None else lost.unproven,
        "superseded_lost": None if lost is None else lost.superseded,
    }


def examine_one(path: str) -> Examined:
    """Read the one metadata directory at or below `path`. Raises UsageError if there isn't exactly
    one."""
    found = discover([path])
    directories = [one for one in found if isinstance(one, DirectoryPath)]
    if len(directories) != len(found):
        raise UsageError(f"{path}: a file; name a metadata directory, or a folder above one")
    if len(directories) > 1:
        names = ", ".join(one.shown for one in directories[:4])
        raise UsageError(
            f"{path}: {len(directories)} metadata directories below it ({names}"
            f"{', ...' if len(directories) > 4 else ''}); name one of them"
        )
    return examine(directories[0], room=FileRoom.of_environment())
