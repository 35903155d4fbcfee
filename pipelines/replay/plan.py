"""What every part of a cluster's replay must know: its runs, and where snapshots belong.

A run is replayed from offset 0, or, where its head is gone, from its base: the oldest snapshot
within it. It reaches the parts as a row among their records.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

PLAN = "REPLAY_PLAN"
"""The record_type of the row."""


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
