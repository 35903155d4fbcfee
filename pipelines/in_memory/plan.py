"""The plan of each cluster's replay: pipelines.silver.replay_plan, on rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pipelines.in_memory.rows import Row, nulls_first
from pipelines.replay.plan import Plan, PlannedSnapshot, Run


class PlannedContent(NamedTuple):
    """The content of a whole snapshot under one id. timestamp_us: as in PlannedSnapshot. can_begin:
    whether a replay may begin with it."""

    cluster_id: str
    end_offset: int
    epoch: int
    content_sha256: str
    timestamp_us: int | None
    can_begin: bool


def plans_of(
    branch: Iterable[Row], known: Iterable[Row], contents: Iterable[PlannedContent]
) -> Mapping[str, Plan]:
    """The plan of each cluster that has records to replay or a whole snapshot, by cluster_id.

    branch: rows with cluster_id, offset and leader_epoch; each offset once in a cluster. known:
    those of its rows that can be replayed.
    """
    epochs: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for row in branch:
        epochs[row["cluster_id"]][row["offset"]] = row["leader_epoch"]
    offsets: defaultdict[str, list[int]] = defaultdict(list)
    for row in known:
        offsets[row["cluster_id"]].append(row["offset"])
    snapshots: defaultdict[str, list[tuple[PlannedSnapshot, bool]]] = defaultdict(list)
    for one in contents:
        branch_epoch = epochs[one.cluster_id].get(one.end_offset - 1)
        planned = PlannedSnapshot(*one[1:4], branch_epoch, one.timestamp_us)
        snapshots[one.cluster_id].append((planned, one.can_begin))
    return {
        cluster_id: _plan(epochs[cluster_id], offsets[cluster_id], snapshots[cluster_id])
        for cluster_id in sorted({*offsets, *snapshots})
    }


def runs_of(offsets: Iterable[int]) -> list[tuple[int, int]]:
    """(start, end (exclusive)) of each run without a hole, ascending. offsets: each once."""
    runs: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if runs and runs[-1][1] == offset:
            runs[-1] = runs[-1][0], offset + 1
        else:
            runs.append((offset, offset + 1))
    return runs


def _plan(
    epochs: Mapping[int, int],
    offsets: Sequence[int],
    snapshots: Sequence[tuple[PlannedSnapshot, bool]],
) -> Plan:
    ordered = sorted(snapshots, key=lambda one: nulls_first(one[0]))
    begins = [snapshot for snapshot, can_begin in ordered if can_begin]
    runs = tuple(Run(start, end, _base(start, end, begins)) for start, end in runs_of(offsets))
    log_end = max(epochs) + 1 if epochs else None
    return Plan(runs, tuple(snapshot for snapshot, _ in ordered), log_end)


def _base(start: int, end: int, begins: Sequence[PlannedSnapshot]) -> PlannedSnapshot | None:
    """The oldest of the snapshots with which the run can begin. None for a run from offset 0."""
    fits = (
        one
        for one in begins
        if start > 0
        and start <= one.end_offset <= end
        and (one.branch_epoch is None or one.is_on_branch)
    )
    return next(fits, None)
