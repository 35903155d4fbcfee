"""The plan of a cluster's replay, which every part follows: the runs of the log, and the offsets of
snapshots.

A run is replayed from offset 0; or, where the log begins later, from its base, the oldest snapshot
within it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

CONTENT_IDS = ("cluster_id", "end_offset", "epoch", "content_sha256")
"""The columns that name one content of one snapshot id."""


class PlannedSnapshot(NamedTuple):
    """A complete snapshot. branch_epoch: the agreed branch's epoch at end_offset - 1, None where
    the branch lacks that offset. timestamp_us: the time of the last record that the snapshot
    contains, None where unknown."""

    end_offset: int
    epoch: int
    content_sha256: str
    branch_epoch: int | None
    timestamp_us: int | None

    @property
    def is_on_branch(self) -> bool:
        return self.branch_epoch == self.epoch


class ReplayRun(NamedTuple):
    """Offsets from start (inclusive) to end (exclusive) without a hole. base: the snapshot with
    which its replay begins, None where there is none."""

    start: int
    end: int
    base: PlannedSnapshot | None

    @property
    def base_offset(self) -> int | None:
        """The offset of the first record that is replayed; None where no replay can begin."""
        return 0 if self.start == 0 else None if self.base is None else self.base.end_offset


@dataclass(frozen=True)
class ReplayPlan:
    """The plan of one cluster. runs, snapshots: ascending. log_end: the end (exclusive) of its
    agreed branch, None where no capture holds any of it."""

    runs: tuple[ReplayRun, ...]
    snapshots: tuple[PlannedSnapshot, ...]
    log_end: int | None


def plan_of(
    runs: Iterable[tuple[int, int]],
    snapshots: Iterable[tuple[PlannedSnapshot, bool]],
    log_end: int | None,
) -> ReplayPlan:
    """The plan of one cluster.

    runs: (start, end (exclusive)) of the offsets that can be replayed, ascending. snapshots: each
    with whether a replay may begin with it. log_end: as in ReplayPlan.
    """
    ordered = sorted(snapshots, key=lambda one: _ID(one[0]))
    begins = [snapshot for snapshot, can_begin in ordered if can_begin]
    planned = tuple(ReplayRun(start, end, _base(start, end, begins)) for start, end in runs)
    return ReplayPlan(planned, tuple(snapshot for snapshot, _ in ordered), log_end)


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
