"""What every part of a cluster's replay must know: the runs of the log, and the offsets of
snapshots.

A run is replayed from offset 0; or, where the log begins later, from its base, the oldest snapshot
within it. Each part gets the plan as a row among its records.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

PLAN = "REPLAY_PLAN"
"""The record_type of the plan's row."""


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


class Run(NamedTuple):
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
class Plan:
    """The plan of one cluster. runs, snapshots: ascending. log_end: the end (exclusive) of its
    agreed branch, None where no capture holds any of it."""

    runs: tuple[Run, ...]
    snapshots: tuple[PlannedSnapshot, ...]
    log_end: int | None


def plan_of(text: str) -> Plan:
    """A plan from its JSON."""
    found = json.loads(text)
    runs = (
        Run(one["start"], one["end"], _snapshot(one.get("base"))) for one in found.get("runs", ())
    )
    snapshots = (_snapshot(one) for one in found.get("snapshots", ()))
    whole = tuple(one for one in snapshots if one is not None)
    return Plan(tuple(runs), whole, found.get("log_end"))


def _snapshot(row: dict[str, Any] | None) -> PlannedSnapshot | None:
    # Spark's JSON leaves out NULLs
    return None if not row else PlannedSnapshot._make(row.get(n) for n in PlannedSnapshot._fields)
