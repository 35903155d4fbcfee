"""Finds every leader epoch that any file of a cluster names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from pipelines.cluster.batches import first_of_each
from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.cluster.control import BatchKey, ControlRecords
from pipelines.cluster.rows import Row, nulls_first
from pipelines.silver.committed_log import AgreedBranch

_OF_CHANGE = ("leader_id", "voters", "granting_voters", "started_at")


def known_epochs(
    bronze: BronzeRows, control: Mapping[BatchKey, ControlRecords], agreed: AgreedBranch
) -> dict[int, Row]:
    """By epoch, for each epoch of a sound batch, of a leader-epoch-checkpoint, or of a
    LEADER_CHANGE record: start_offset, and leader_id, voters, granting_voters and started_at of the
    LEADER_CHANGE record. Where two histories have a leader in one epoch, the record of the agreed
    branch counts.

    Where no file has the record any more, start_offset is the smallest offset that a batch or a
    checkpoint gives the epoch, leader_id is the leader that a quorum-state names, if any, and the
    other columns are None. Truncated branches and .log.deleted files count, so a known epoch stays
    known.
    """
    offsets: dict[int, list[int]] = defaultdict(list)
    batches = bronze.batches.at(np.flatnonzero(bronze.batches.is_sound))
    for first in first_of_each([batches.leader_epoch], [batches.base_offset]).tolist():
        base_offset, number, _ = batches.identity(first)
        offsets[number].append(base_offset)
    for row in bronze.state:
        for entry in row["leader_epochs"] or ():
            offsets[entry["epoch"]].append(entry["start_offset"])
    changes = _leader_changes(control, agreed)
    leaders = _stated_leaders(bronze.state)
    found: dict[int, Row] = {}
    for epoch in {**dict.fromkeys(offsets), **dict.fromkeys(changes)}:
        change = changes.get(epoch, dict.fromkeys(_OF_CHANGE))
        start = change.get("offset")
        found[epoch] = {
            **{name: change[name] for name in _OF_CHANGE},
            "start_offset": min(offsets[epoch]) if start is None else start,
            "leader_id": leaders.get(epoch) if change["leader_id"] is None else change["leader_id"],
        }
    return found


def _leader_changes(
    control: Mapping[BatchKey, ControlRecords], agreed: AgreedBranch
) -> dict[int, Row]:
    """By epoch, the LEADER_CHANGE record. Of several records the first one on the agreed branch
    counts, or else the first one."""
    held = [(key, one.leader_change) for key, one in control.items() if one.leader_change]
    places = np.array([key[3:] for key, _ in held], np.int64).reshape(-1, 3)
    is_beside = ~agreed.has(places[:, 0], places[:, 1], places[:, 2])
    found: dict[int, list[tuple[bool, Row]]] = defaultdict(list)
    for (key, change), beside in zip(held, is_beside.tolist(), strict=True):
        found[key[4]].append((beside, change))
    return {epoch: min(some, key=nulls_first)[1] for epoch, some in found.items()}


def _stated_leaders(state: Iterable[Row]) -> dict[int, int]:
    """The leader of each epoch, by the quorum-states that name it. An epoch has one leader: where
    quorum-states name two, neither counts."""
    named: dict[int, set[int]] = defaultdict(set)
    for row in state:
        if row["leader_id"] is not None and row["leader_id"] >= 0:
            named[row["leader_epoch"]].add(row["leader_id"])
    return {epoch: next(iter(ids)) for epoch, ids in named.items() if len(ids) == 1}
