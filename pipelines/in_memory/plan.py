"""The plan of each cluster's replay, from the rows of its records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pipelines.in_memory.rows import Row
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan, plan_of


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
) -> Mapping[str, ReplayPlan]:
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
) -> ReplayPlan:
    return plan_of(runs_of(offsets), snapshots, max(epochs) + 1 if epochs else None)
