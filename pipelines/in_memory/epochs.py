"""silver.leader_epochs, silver.voter_sets, and every epoch that any file of a cluster names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from pipelines.in_memory.aggregates import grouped
from pipelines.in_memory.batches import first_of_each
from pipelines.in_memory.bronze_rows import BronzeRows
from pipelines.in_memory.control import (
    BatchKey,
    ControlRecords,
    SnapshotKey,
    leader_voters_as_voters,
    node_ids_as_voters,
)
from pipelines.in_memory.held import HeldBatches
from pipelines.in_memory.rows import Row, nulls_first
from pipelines.tables.keys import REPLICA_KEYS

_NO_OFFSET = (1 << 63) - 1
_OF_CHANGE = ("leader_id", "voters", "granting_voters", "started_at")


def leader_epochs(bronze: BronzeRows, held: HeldBatches) -> Iterator[Row]:
    """Rows of silver.leader_epochs."""
    checkpoints = {row["capture_id"]: row["leader_epochs"] for row in bronze.state}
    for capture_id, look in held.looks.items():
        yield from _of_capture(look, _in_log(held, capture_id), checkpoints.get(capture_id))


class _InLog(NamedTuple):
    """An epoch in a capture's log. start: its lowest offset. last: its highest offset. changes: its
    LEADER_CHANGE records."""

    start: int
    last: int
    changes: list[Row]


def _in_log(held: HeldBatches, capture_id: str) -> dict[int, _InLog]:
    """The epochs of a capture's batches."""
    batches, places = held.batches, held.places(capture_id)
    epochs, of_epoch = np.unique(batches.leader_epoch[places], return_inverse=True)
    starts = np.full(len(epochs), _NO_OFFSET)
    lasts = np.full(len(epochs), -1)
    np.minimum.at(starts, of_epoch, batches.base_offset[places])
    np.maximum.at(lasts, of_epoch, batches.last_offset[places])
    told = (one.leader_change for one in held.control(capture_id))
    changes = grouped((one for one in told if one is not None), itemgetter("epoch"))
    found = zip(epochs.tolist(), starts.tolist(), lasts.tolist(), strict=True)
    return {epoch: _InLog(start, last, changes.get(epoch, [])) for epoch, start, last in found}


def _of_capture(
    look: Row, in_log: Mapping[int, _InLog], checkpoint: Sequence[Row] | None
) -> Iterator[Row]:
    entries: dict[int, int] = {}
    for entry in checkpoint or ():
        start = entries.get(entry["epoch"], entry["start_offset"])
        entries[entry["epoch"]] = min(start, entry["start_offset"])
    first_offset = min((one.start for one in in_log.values()), default=None)
    next_start: int | None = None
    is_newest = True
    for epoch in sorted({*in_log, *entries}, reverse=True):
        known = in_log.get(epoch)
        start = end = None
        is_within = True
        if known is not None:
            start = known.start
            end = look["log_end_offset"] if next_start is None else next_start
            is_within = known.last < end
        row = {
            "start_offset": start,
            "end_offset": end,
            "leader_change": min(known.changes if known else (), key=nulls_first, default=None),
            "checkpoint_start": entries.get(epoch),
        }
        agrees = (
            is_within
            and _leader_change_agrees(row, first_offset)
            and (checkpoint is None or _checkpoint_agrees(row, look, is_newest=is_newest))
        )
        yield _epoch_row(look, epoch, row, agrees=agrees)
        is_newest = False
        if start is not None:
            next_start = start if next_start is None else min(next_start, start)


def _epoch_row(look: Row, epoch: int, found: Row, *, agrees: bool) -> Row:
    change = found["leader_change"] or dict.fromkeys(_OF_CHANGE)
    return {
        **{name: look[name] for name in (*REPLICA_KEYS, "capture_id")},
        "epoch": epoch,
        "start_offset": found["start_offset"],
        "end_offset": found["end_offset"],
        **{name: change[name] for name in _OF_CHANGE},
        "in_batches": found["start_offset"] is not None,
        "in_control_record": found["leader_change"] is not None,
        "in_checkpoint": found["checkpoint_start"] is not None,
        "agrees": agrees,
    }


def _leader_change_agrees(found: Row, first_offset: int | None) -> bool:
    """Whether the epoch's first record is its LEADER_CHANGE. It may be absent where the epoch's
    head was deleted."""
    start, change = found["start_offset"], found["leader_change"]
    if start is None:
        return True
    if change is None:
        return bool(start == first_offset and start > 0)
    return bool(change["offset"] == start)


def _checkpoint_agrees(found: Row, look: Row, *, is_newest: bool) -> bool:
    """Whether the checkpoint has the epoch where it must. The checkpoint starts at the log start
    (LeaderEpochFileCache.truncateFromStart).

    An epoch that ends at or below the log start is absent, unless it is the one in force there,
    which the cache never loses. An epoch without batches is the newest one, at the log end: the
    leader enters it before it writes (KafkaMetadataLog.initializeLeaderEpoch).
    """
    start, entry = found["start_offset"], found["checkpoint_start"]
    log_start = look["log_start_offset"]
    if start is None:
        return bool(is_newest and entry == look["log_end_offset"])
    is_below_start = found["end_offset"] <= log_start
    if entry is None:
        return bool(is_below_start)
    return bool(entry == max(start, log_start) and (not is_below_start or is_newest))


def voter_sets(
    bronze: BronzeRows,
    control: Mapping[BatchKey, ControlRecords],
    snapshot_sets: Mapping[SnapshotKey, Sequence[Row]],
) -> list[Row]:
    """Rows of silver.voter_sets. control: from control_records. snapshot_sets: from
    snapshot_voter_sets.

    Records of truncated branches and of .log.deleted files count too.
    """
    named: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for replica, source, found, voters in _named(bronze, control, snapshot_sets):
        if voters is not None and found["epoch"] is not None:
            named[*replica, source, found["offset"], found["epoch"]].append(voters)
    # The same record is in the files of several captures. Where contents under one key differ (only
    # damage or a broken quorum causes that), max() always chooses the same one.
    names = (*REPLICA_KEYS, "source", "offset", "epoch")
    rows = [
        {**dict(zip(names, key, strict=True)), "voters": max(found, key=nulls_first)}
        for key, found in named.items()
    ]
    return _without_repetitions(rows)


def _named(
    bronze: BronzeRows,
    control: Mapping[BatchKey, ControlRecords],
    snapshot_sets: Mapping[SnapshotKey, Sequence[Row]],
) -> Iterator[tuple[tuple[Any, ...], str, Row, list[Row] | None]]:
    """For each voter set that a file names: the values of REPLICA_KEYS, the source, the offset and
    epoch, and the voters."""
    for key, records in control.items():
        for found in records.voter_sets:
            yield key[:3], "kraft_voters", found, found["voters"]
        change = records.leader_change
        if change is not None:
            yield key[:3], "leader_change", change, leader_voters_as_voters(change["voters"])
    for snapshot, sets in snapshot_sets.items():
        for found in sets:
            yield snapshot[:3], "snapshot", found, found["voters"]
    for row in bronze.state:
        if row["current_voters"]:
            stated = {"offset": None, "epoch": row["leader_epoch"]}
            voters = node_ids_as_voters(row["current_voters"])
            yield tuple(row[name] for name in REPLICA_KEYS), "quorum_state", stated, voters


def _without_repetitions(rows: Sequence[Row]) -> list[Row]:
    """The rows without each LEADER_CHANGE behind a voters record, whose ids it only repeats
    (KIP-853)."""
    offsets = (row["offset"] for row in rows if row["source"] in ("kraft_voters", "snapshot"))
    first = min(offsets, default=_NO_OFFSET)
    return [row for row in rows if row["source"] != "leader_change" or row["offset"] < first]


def known_epochs(bronze: BronzeRows, control: Mapping[BatchKey, ControlRecords]) -> dict[int, Row]:
    """By epoch, for each epoch that any file of any replica names: start_offset, and leader_id,
    voters, granting_voters and started_at of its LEADER_CHANGE record.

    Where that record is gone everywhere these are None, except that quorum-states may still name
    the leader_id. Truncated branches and .log.deleted files count, so a known epoch stays known.
    """
    offsets: dict[int, list[int]] = defaultdict(list)
    changes: dict[int, list[Row]] = defaultdict(list)
    batches = bronze.batches.at(np.flatnonzero(bronze.batches.is_sound))
    for first in first_of_each([batches.leader_epoch], [batches.base_offset]).tolist():
        base_offset, number, _ = batches.identity(first)
        offsets[number].append(base_offset)
    for row in bronze.state:
        for entry in row["leader_epochs"] or ():
            offsets[entry["epoch"]].append(entry["start_offset"])
    for key, records in control.items():
        if records.leader_change is not None:
            changes[key[4]].append(records.leader_change)
    leaders = _stated_leaders(bronze.state)
    found: dict[int, Row] = {}
    for epoch in {**dict.fromkeys(offsets), **dict.fromkeys(changes)}:
        change = min(changes.get(epoch, ()), key=nulls_first, default=dict.fromkeys(_OF_CHANGE))
        start = change.get("offset")
        found[epoch] = {
            **{name: change[name] for name in _OF_CHANGE},
            "start_offset": min(offsets[epoch]) if start is None else start,
            "leader_id": leaders.get(epoch) if change["leader_id"] is None else change["leader_id"],
        }
    return found


def _stated_leaders(state: Iterable[Row]) -> dict[int, int]:
    """The leader of each epoch by the quorum-states that know it. An epoch has one leader; where
    quorum-states name two, neither is taken."""
    named: dict[int, set[int]] = defaultdict(set)
    for row in state:
        if row["leader_id"] is not None and row["leader_id"] >= 0:
            named[row["leader_epoch"]].add(row["leader_id"])
    return {epoch: next(iter(ids)) for epoch, ids in named.items() if len(ids) == 1}
