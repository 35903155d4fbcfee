"""The values of which the plan of a cluster's replay consists: the runs of the log, and the
snapshots. `planning` makes the plan, and every part of the replay follows it.

A run is replayed from offset 0; or, where the log begins later, from its base, the oldest snapshot
within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

CONTENT_IDS = ("cluster_id", "end_offset", "epoch", "content_sha256")
"""The columns that name one content of one snapshot id."""


class PlannedSnapshot(NamedTuple):
    """The content of a whole snapshot under one id."""

    end_offset: int
    epoch: int
    content_sha256: str
    branch_epoch: int | None
    """The agreed branch's epoch at end_offset - 1; None where the branch lacks that offset, and
    before the replay is planned."""
    timestamp_us: int | None
    """The time of the last record that the snapshot contains; None where that time is unknown."""

    @property
    def is_on_branch(self) -> bool:
        return self.branch_epoch == self.epoch


class ReplayRun(NamedTuple):
    """Offsets from start (inclusive) to end (exclusive) without a hole."""

    start: int
    end: int
    base: PlannedSnapshot | None
    """The snapshot with which the run's replay begins; None where no snapshot fits."""

    @property
    def base_offset(self) -> int | None:
        """The offset of the first record that is replayed; None where no replay can begin."""
        return 0 if self.start == 0 else None if self.base is None else self.base.end_offset


@dataclass(frozen=True)
class ReplayPlan:
    """The plan of one cluster."""

    runs: tuple[ReplayRun, ...]
    """Ascending by offset."""
    snapshots: tuple[PlannedSnapshot, ...]
    """The whole snapshots, ascending by end offset."""
    log_end: int | None
    """The end (exclusive) of the cluster's agreed branch; None where no capture holds a record of
    it."""
    unknown: frozenset[int] = frozenset()
    """The offsets of the branch whose records are of a type or version that this release doesn't
    know. Such a record counts as a hole in the log, because no state behind it is known
    completely."""
