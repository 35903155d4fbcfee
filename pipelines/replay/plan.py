"""The plan of a cluster's replay: the runs of the log, and the snapshots. `planned` makes the plan
from the offsets whose records can be replayed, and every part of the replay follows it.

A run is replayed from offset 0; or, where the log begins later, from its base, the oldest snapshot
within the run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from pipelines.cluster.rows import Row, microseconds
from pipelines.replay.columns import is_unknown
from pipelines.silver.committed_log import AgreedBranch
from replica.metadata.passed_over import NOTHING, PassedOver

CONTENT_IDS = ("cluster_id", "end_offset", "epoch", "content_sha256")
"""The columns that identify one content of one snapshot id."""


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
    """The runs, ascending by offset."""
    snapshots: tuple[PlannedSnapshot, ...]
    """The whole snapshots, ascending by end offset."""
    log_end: int | None
    """The end (exclusive) of the cluster's agreed branch; None where no capture holds a record of
    the branch."""
    unknown: frozenset[int] = frozenset()
    """The offsets of the branch whose records are of a type or version that this release doesn't
    know. Such a record counts as a hole in the log, because no state after it is known completely.
    """


_Runs: TypeAlias = list[tuple[int, int]]
"""Ranges of offsets (start, end (exclusive)), ascending."""


def whole_snapshots(snapshots: Iterable[Row]) -> Iterator[PlannedSnapshot]:
    """The whole snapshots, each id and content once, with the latest time that a row gives for it,
    and without a branch_epoch. snapshots: rows of bronze.snapshots."""
    latest: dict[tuple[int, int, str], int | None] = {}
    for row in snapshots:
        if row["is_whole"]:
            ids = row["end_offset"], row["epoch"], row["content_sha256"]
            at = microseconds(row["last_contained_log_timestamp"])
            seen = (one for one in (latest.get(ids), at) if one is not None)
            latest[ids] = max(seen, default=None)
    for ids, timestamp_us in latest.items():
        yield PlannedSnapshot(*ids, None, timestamp_us)


class Surveyed(NamedTuple):
    """What a plan of the replay needs to know about some records."""

    held: _Runs
    """The offsets that have a record."""
    unknown: list[int]
    """The offsets of records whose type or version this release doesn't know. Records that the
    replay passes over are left out."""


def surveyed(rows: pa.Table, passed_over: PassedOver = NOTHING) -> Surveyed:
    """The facts about these records that a plan needs. rows: the records with the columns of
    RECORDS, ascending by offset. passed_over: the types of records that the replay passes over."""
    offsets = np.asarray(rows["offset"].to_numpy(), np.int64)
    cuts = (np.flatnonzero(np.diff(offsets) != 1) + 1).tolist()
    bounds = pairwise([0, *cuts, len(offsets)] if len(offsets) else [])
    held = [(int(offsets[first]), int(offsets[end - 1]) + 1) for first, end in bounds]
    return Surveyed(held, offsets[is_unknown(rows, passed_over)].tolist())


def planned(
    committed: AgreedBranch,
    pieces: Iterable[Surveyed],
    snapshots: Iterable[PlannedSnapshot],
    partial_contents: Collection[str],
) -> ReplayPlan:
    """The plan of a cluster's replay. pieces: the facts about the records of the agreed branch,
    ascending by offset. snapshots: from whole_snapshots. partial_contents: the contents of
    snapshots that hold a record which this release doesn't know. No replay begins with such a
    snapshot."""
    held: _Runs = []
    unknown: list[int] = []
    for piece in pieces:
        held += piece.held
        unknown += piece.unknown
    present = [*_joined(held)]
    placed = (
        one._replace(branch_epoch=_epoch_before(committed, present, one.end_offset))
        for one in snapshots
    )
    ordered = sorted(placed, key=itemgetter(0, 1, 2))
    begins = [one for one in ordered if one.content_sha256 not in partial_contents]
    runs = (
        ReplayRun(start, end, _base(start, end, begins))
        for start, end in _without(present, unknown)
    )
    log_end = present[-1][1] if present else None
    return ReplayPlan(tuple(runs), tuple(ordered), log_end, frozenset(unknown))


def _base(start: int, end: int, begins: Sequence[PlannedSnapshot]) -> PlannedSnapshot | None:
    """The oldest of the snapshots with which the run can begin; None where there is none. A run
    from offset 0 needs no snapshot: None for it, too."""
    fits = (
        one
        for one in begins
        if start > 0
        and start <= one.end_offset <= end
        and (one.branch_epoch is None or one.is_on_branch)
    )
    return next(fits, None)


def _joined(runs: _Runs) -> Iterator[tuple[int, int]]:
    """The runs, where neighbours without a hole between them are joined into one."""
    starts = [index for index, run in enumerate(runs) if not index or runs[index - 1][1] != run[0]]
    for first, end in pairwise([*starts, len(runs)] if runs else []):
        yield runs[first][0], runs[end - 1][1]


def _without(runs: _Runs, offsets: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The runs without these offsets. offsets: ascending; each is in one of the runs."""
    gone = np.array(offsets, np.int64)
    for start, end in runs:
        inside = gone[np.searchsorted(gone, start) : np.searchsorted(gone, end)].tolist()
        for low, high in zip([start, *(one + 1 for one in inside)], [*inside, end], strict=True):
            if low < high:
                yield low, high


def _epoch_before(committed: AgreedBranch, present: _Runs, end_offset: int) -> int | None:
    """The epoch of the branch's record before an end offset; None where the branch lacks that
    record."""
    offset = end_offset - 1
    if not any(start <= offset < end for start, end in present):
        return None
    return committed.epoch_at(offset)
