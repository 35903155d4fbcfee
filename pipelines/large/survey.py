"""Which records of large clusters can be replayed, and so the plan of each cluster's replay."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from pipelines.large.log import BranchRange, ClusterLog, WholeSnapshot
from pipelines.replay.columns import is_unknown
from pipelines.replay.plan import PlannedSnapshot, ReplayPlan, plan_of
from pipelines.tasks import Tasks

Logs: TypeAlias = Mapping[str, ClusterLog]
"""By cluster_id."""
_Runs: TypeAlias = list[tuple[int, int]]
"""(start, end (exclusive)), ascending."""


@dataclass(frozen=True)
class Planned:
    """What a cluster's parts replay. unknown: the offsets of the branch whose records are of a type
    or version that this release doesn't know. Behind such a record no state is the whole truth, so
    it is a hole in the log."""

    plan: ReplayPlan
    unknown: frozenset[int]


class _Stretch(NamedTuple):
    cluster_id: str
    of: BranchRange | WholeSnapshot


class _Surveyed(NamedTuple):
    """held: the offsets that have a record; unknown: those of a record that this release doesn't
    know."""

    held: _Runs
    unknown: list[int]


def planned(tasks: Tasks, logs: Logs) -> dict[str, Planned]:
    """The plan of each cluster that has records to replay, or a whole snapshot.

    Reads all records of the agreed branches and of whole snapshots, a piece in each part of the
    work. Raises what delta-rs raises.
    """
    stretches = [
        _Stretch(cluster_id, one) for cluster_id, log in logs.items() for one in _stretches(log)
    ]
    found: defaultdict[str, list[tuple[BranchRange | WholeSnapshot, _Surveyed]]] = defaultdict(list)
    surveyed = tasks.results(partial(_surveyed, logs=logs), stretches)
    for stretch, told in zip(stretches, surveyed, strict=True):
        found[stretch.cluster_id].append((stretch.of, told))
    plans = {cluster_id: _planned(logs[cluster_id], told) for cluster_id, told in found.items()}
    return {
        cluster_id: one for cluster_id, one in plans.items() if one.plan.runs or one.plan.snapshots
    }


def _stretches(log: ClusterLog) -> Iterator[BranchRange | WholeSnapshot]:
    """The pieces of the branch, and each content of a snapshot under one of its ids."""
    yield from log.pieces
    yield from {one.content_sha256: one for one in log.snapshots}.values()


def _surveyed(stretch: _Stretch, *, logs: Logs) -> _Surveyed:
    """In a task."""
    log = logs[stretch.cluster_id]
    of = stretch.of
    rows = log.branch(of).rows if isinstance(of, BranchRange) else log.content(of)
    offsets = np.asarray(rows["offset"].to_numpy(), np.int64)
    cuts = (np.flatnonzero(np.diff(offsets) != 1) + 1).tolist()
    bounds = pairwise([0, *cuts, len(offsets)] if len(offsets) else [])
    held = [(int(offsets[first]), int(offsets[end - 1]) + 1) for first, end in bounds]
    return _Surveyed(held, offsets[is_unknown(rows)].tolist())


def _planned(
    log: ClusterLog, told: Iterable[tuple[BranchRange | WholeSnapshot, _Surveyed]]
) -> Planned:
    held: _Runs = []
    unknown: list[int] = []
    partial_contents = set()
    for of, found in told:
        if isinstance(of, BranchRange):
            held += found.held
            unknown += found.unknown
        elif found.unknown:
            partial_contents.add(of.content_sha256)
    present = [*_joined(held)]
    snapshots = [
        (
            PlannedSnapshot(
                *one[:3], _epoch_before(log, present, one.end_offset), one.timestamp_us
            ),
            one.content_sha256 not in partial_contents,
        )
        for one in log.snapshots
    ]
    runs = _without(present, unknown)
    log_end = present[-1][1] if present else None
    return Planned(plan_of(runs, snapshots, log_end), frozenset(unknown))


def _joined(runs: _Runs) -> Iterator[tuple[int, int]]:
    """Runs that follow each other without a hole are one."""
    starts = [index for index, run in enumerate(runs) if not index or runs[index - 1][1] != run[0]]
    for first, end in pairwise([*starts, len(runs)] if runs else []):
        yield runs[first][0], runs[end - 1][1]


def _without(runs: _Runs, offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """What is left of the runs without these offsets, which are in them, ascending."""
    gone = np.array(offsets, np.int64)
    for start, end in runs:
        inside = gone[np.searchsorted(gone, start) : np.searchsorted(gone, end)].tolist()
        for low, high in zip([start, *(one + 1 for one in inside)], [*inside, end], strict=True):
            if low < high:
                yield low, high


def _epoch_before(log: ClusterLog, present: _Runs, end_offset: int) -> int | None:
    """The epoch of the branch's record before an end offset; None where the branch lacks it."""
    offset = end_offset - 1
    if not any(start <= offset < end for start, end in present):
        return None
    entry = log.committed.entry(offset)
    return None if entry is None else entry["leader_epoch"]
