"""Finds which records of large clusters can be replayed. Each task reads one piece of a log, or one
snapshot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from pipelines.in_memory.plan import Planned, Surveyed, WholeSnapshot, surveyed
from pipelines.in_memory.plan import planned as planned_of
from pipelines.in_memory.replay import BranchRange
from pipelines.large.log import ClusterLog
from pipelines.tasks import Tasks

Logs: TypeAlias = Mapping[str, ClusterLog]
"""The log of each cluster, by cluster_id."""


class _Stretch(NamedTuple):
    cluster_id: str
    of: BranchRange | WholeSnapshot


def planned(tasks: Tasks, logs: Logs) -> dict[str, Planned]:
    """The plan of each cluster that has records to replay, or a whole snapshot.

    Reads all records of the agreed branches and of whole snapshots, a piece in each part of the
    work. Raises what delta-rs raises.
    """
    stretches = [
        _Stretch(cluster_id, one) for cluster_id, log in logs.items() for one in _stretches(log)
    ]
    pieces: defaultdict[str, list[Surveyed]] = defaultdict(list)
    partial_contents: defaultdict[str, list[str]] = defaultdict(list)
    told = tasks.results(partial(_surveyed, logs=logs), stretches)
    for (cluster_id, of), found in zip(stretches, told, strict=True):
        if isinstance(of, BranchRange):
            pieces[cluster_id].append(found)
        elif found.unknown:
            partial_contents[cluster_id].append(of.content_sha256)
    plans = {
        one: planned_of(log.committed, pieces[one], log.snapshots, partial_contents[one])
        for one, log in logs.items()
    }
    return {
        cluster_id: one for cluster_id, one in plans.items() if one.plan.runs or one.plan.snapshots
    }


def _stretches(log: ClusterLog) -> Iterator[BranchRange | WholeSnapshot]:
    """The pieces of the branch, and each content of a snapshot under one of its ids."""
    yield from log.pieces
    yield from {one.content_sha256: one for one in log.snapshots}.values()


def _surveyed(stretch: _Stretch, *, logs: Logs) -> Surveyed:
    """Runs in a task."""
    log, of = logs[stretch.cluster_id], stretch.of
    return surveyed(log.branch(of).rows if isinstance(of, BranchRange) else log.content(of))
