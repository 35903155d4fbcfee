"""What every part of a cluster's replay must know: its runs, and where snapshots belong.

A run is replayed from offset 0, or, where its head is gone, from its base: the oldest snapshot
within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

CONTENT_IDS = ("cluster_id", "end_offset", "epoch", "content_sha256")
"""The content of a snapshot under one id."""


class PlannedSnapshot(NamedTuple):
    """A whole snapshot. branch_epoch: the branch's epoch at end_offset - 1, None where the branch
    lacks it. timestamp_us: time of the last record it contains, None where unknown."""

    end_offset: int
    epoch: int
    content_sha256: str
    branch_epoch: int | None
    timestamp_us: int | None

    @property
    def is_on_branch(self) -> bool:
        return self.branch_epoch == self.epoch


class Run(NamedTuple):
    """Offsets from start to end (exclusive) without a hole; base: None where it has none."""

    start: int
    end: int
    base: PlannedSnapshot | None

    @property
    def base_offset(self) -> int | None:
        """The offset from which on records are replayed; None where nothing can begin."""
        return 0 if self.start == 0 else None if self.base is None else self.base.end_offset


@dataclass(frozen=True)
class Plan:
    """runs, snapshots: of one cluster, ascending. log_end: the end (exclusive) of its agreed
    branch, None where nothing of it is held."""

    runs: tuple[Run, ...]
    snapshots: tuple[PlannedSnapshot, ...]
    log_end: int | None


def plan_of(
    runs: Iterable[tuple[int, int]],
    snapshots: Iterable[tuple[PlannedSnapshot, bool]],
    log_end: int | None,
) -> Plan:
    """The plan of one cluster.

    runs: (start, end (exclusive)) of the offsets that can be replayed, ascending. snapshots: each
    with whether a replay may begin with it. log_end: as of Plan.
    """
    ordered = sorted(snapshots, key=lambda one: _ID(one[0]))
    begins = [snapshot for snapshot, can_begin in ordered if can_begin]
    planned = tuple(Run(start, end, _base(start, end, begins)) for start, end in runs)
    return Plan(planned, tuple(snapshot for snapshot, _ in ordered), log_end)


_ID = itemgetter(0, 1, 2)


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
