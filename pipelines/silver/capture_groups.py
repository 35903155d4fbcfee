"""A row for each capture group of a cluster: the facts that replica.history derives from its logs.
This module also orders the groups in time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from pipelines.cluster.aggregates import grouped
from pipelines.cluster.replica_logs import ReplicaLogs
from pipelines.cluster.rows import Row
from replica.doctor.quorum.branch import BranchPart, agreed_branch, overruled_parts
from replica.doctor.quorum.progress import CommittedProgress, progress_of
from replica.history.commitment import (
    Commitment,
    GroupComparison,
    classify_compared,
    compare_group,
    divergence_columns,
    losses,
)
from replica.history.divergence import diverge
from replica.history.log import OffsetRange, ReplicaLog, epochs_of
from replica.model.epochs import EpochStart
from replica.model.keys import ReplicaKey


def finding_of_group(captures: Sequence[tuple[str, ReplicaLog]]) -> dict[str, Any]:
    """The facts about a capture group, by column name.

    captures: (capture_id, log) of each replica of the group, in the order of their keys.

    - pairs: the columns of gold.divergence_points for each pair of replicas, and the first offset
      at which both hold one epoch with two contents, or None for replicas that aren't in conflict.
    - contested: the ranges from `start` (inclusive) to `end` (exclusive) that have two proven
      entries, with the epoch at `start`, and the capture of the first replica that holds `start`.
    - epochs: the offset at which each replica's log first holds an epoch, and the commitment of the
      entry at that offset.
    - branch: the epochs of the agreed branch with their first offsets, ascending.
    - branch_parts: the captures whose logs hold the branch from `start` (inclusive) to `end`
      (exclusive).
    - overruled: the proven entries of logs beside the branch, where proofs contradict.
    - branch_start (inclusive), branch_end (exclusive): None where all logs are empty.
    - progress: replica.doctor.quorum.progress of each replica. evidence: majority or snapshot.
      evidence_offset (inclusive) and evidence_epoch: the entry that proves. holders: the node ids
      that hold this entry. position: the last epoch and the end offset that the replica names in an
      election.
    """
    group = compare_group([log for _, log in captures])
    commitment = classify_compared(group)
    parts = agreed_branch(group, commitment)
    overruled = overruled_parts(group, commitment, parts)
    progress = progress_of(group, commitment, parts)
    capture_of = {log.key: capture_id for capture_id, log in captures}
    return {
        "pairs": [_pair(a, b, group, commitment) for a, b in combinations(captures, 2)],
        "contested": [_contested(one, group, capture_of) for one in commitment.contested],
        "epochs": _epoch_heads(group.logs, commitment),
        "branch": [asdict(entry) for entry in _branch_epochs(group.logs, parts)],
        "branch_parts": [_part(part, capture_of[part.key]) for part in parts],
        "overruled": [_part(part, capture_of[part.key]) for part in overruled],
        "branch_start": parts[0].start if parts else None,
        "branch_end": parts[-1].end if parts else None,
        "progress": [_progress(log, progress[log.key], capture_of[log.key]) for log in group.logs],
    }


def _pair(
    one: tuple[str, ReplicaLog],
    other: tuple[str, ReplicaLog],
    group: GroupComparison,
    commitment: Commitment,
) -> dict[str, Any]:
    (capture_a, a), (capture_b, b) = one, other
    found = diverge(a, b, group.between(a.key, b.key))
    conflict = None if found.conflict_offset is None else a.batch_at(found.conflict_offset)
    return {
        "node_a": a.key.node_id,
        "directory_a": a.key.directory_id,
        "node_b": b.key.node_id,
        "directory_b": b.key.directory_id,
        "capture_a": capture_a,
        "capture_b": capture_b,
        **divergence_columns(found, losses(found, commitment)),
        "conflict_offset": found.conflict_offset,
        "conflict_epoch": conflict and conflict.epoch,
    }


def _contested(
    contested: OffsetRange, group: GroupComparison, capture_of: Mapping[ReplicaKey, str]
) -> dict[str, Any]:
    held = ((log.key, log.batch_at(contested.start)) for log in group.logs)
    key, batch = next((key, batch) for key, batch in held if batch is not None)
    return {
        "start": contested.start,
        "end": contested.end,
        "capture_id": capture_of[key],
        "epoch": batch.epoch,
    }


def _epoch_heads(logs: Sequence[ReplicaLog], commitment: Commitment) -> list[dict[str, Any]]:
    heads = set()
    for log in logs:
        for entry in epochs_of(log.batches):
            verdict = commitment.verdict_at(log.key, entry.start_offset)
            assert verdict is not None, "an epoch starts at a batch that the log holds"
            heads.add((entry.epoch, entry.start_offset, verdict.value))
    names = ("epoch", "start_offset", "commitment")
    return [dict(zip(names, head, strict=True)) for head in sorted(heads)]


def _branch_epochs(
    logs: Sequence[ReplicaLog], parts: Sequence[BranchPart]
) -> tuple[EpochStart, ...]:
    """Each epoch of the agreed branch with its first offset there."""
    by_key = {log.key: log for log in logs}
    found: list[EpochStart] = []
    for part in parts:
        batches = by_key[part.key].batches
        first = bisect_left(batches, part.start, key=lambda batch: batch.last_offset)
        for index in range(first, len(batches)):
            batch = batches[index]
            if batch.base_offset >= part.end:
                break
            if not found or batch.epoch > found[-1].epoch:
                found.append(EpochStart(batch.epoch, max(part.start, batch.base_offset)))
    return tuple(found)


def _part(part: BranchPart, capture_id: str) -> dict[str, Any]:
    return {
        "start": part.start,
        "end": part.end,
        "capture_id": capture_id,
        "commitment": part.verdict.value,
    }


def _progress(log: ReplicaLog, progress: CommittedProgress, capture_id: str) -> dict[str, Any]:
    proof, position = progress.proof, log.position()
    by_snapshot = proof is not None and proof.snapshot_id is not None
    return {
        "capture_id": capture_id,
        "high_watermark": progress.high_watermark,
        "agreed_end": progress.agreed_end,
        "own_records": progress.own_records,
        "evidence": None if proof is None else "snapshot" if by_snapshot else "majority",
        "evidence_offset": proof and proof.offset,
        "evidence_epoch": proof and proof.epoch,
        "holders": None if proof is None else sorted(key.node_id for key in proof.holders),
        "position": {"epoch": position.epoch, "offset": position.offset},
    }


def group_findings(
    cluster_id: str,
    captures: Iterable[Row],
    logs: ReplicaLogs,
    known: Mapping[str, Row] = MappingProxyType({}),
) -> list[Row]:
    """A row of silver.capture_groups for each capture group. captures: the cluster's rows of
    bronze.captures. known: rows of silver.capture_groups from an earlier build, by capture_group.
    They are reused: the row of a group depends only on the files of its captures, and the group's
    id is a hash of these files."""
    return [
        {
            "cluster_id": cluster_id,
            "capture_group": name,
            "captured_at": max(row["captured_at"] for row in rows),
            "ingest_seq": max(row["ingest_seq"] for row in rows),
            **(_shown(known[name]) if name in known else finding_of_group(_newest(rows, logs))),
        }
        for name, rows in grouped(captures, itemgetter("capture_group")).items()
    ]


_OF_CAPTURES = ("cluster_id", "capture_group", "captured_at", "ingest_seq")


def _shown(known: Row) -> Row:
    return {name: value for name, value in known.items() if name not in _OF_CAPTURES}


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
    """The name of the newest group; None where there is no group. groups: rows of group_findings.

    Of groups with the same captured_at, the one with the highest ingest_seq is the newest; of those
    with the same ingest_seq, the one whose name comes first.
    """
    by_name = sorted(groups, key=itemgetter("capture_group"))
    newest = max(by_name, key=itemgetter("captured_at", "ingest_seq"), default=None)
    return None if newest is None else str(newest["capture_group"])
