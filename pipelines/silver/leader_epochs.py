"""silver.leader_epochs: the epochs that each capture knows, from three sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from pipelines.cluster.aggregates import grouped
from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.cluster.replica_logs import HeldBatches
from pipelines.cluster.rows import Row, nulls_first
from pipelines.tables.keys import REPLICA_KEYS

_NO_OFFSET = (1 << 63) - 1
_OF_CHANGE = ("leader_id", "voters", "granting_voters", "started_at")


def leader_epochs(bronze: BronzeRows, held: HeldBatches) -> Iterator[Row]:
    """Rows of silver.leader_epochs."""
    checkpoints = {row["capture_id"]: row["leader_epochs"] for row in bronze.state}
    for capture_id, capture in held.captures.items():
        yield from _of_capture(capture, _in_log(held, capture_id), checkpoints.get(capture_id))


class _InLog(NamedTuple):
    """An epoch in a capture's log."""

    start: int
    """The lowest offset of the epoch."""
    last: int
    """The highest offset of the epoch (inclusive)."""
    changes: list[Row]
    """The LEADER_CHANGE records of the epoch."""


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
    capture: Row, in_log: Mapping[int, _InLog], checkpoint: Sequence[Row] | None
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
            end = capture["log_end_offset"] if next_start is None else next_start
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
            and (checkpoint is None or _checkpoint_agrees(row, capture, is_newest=is_newest))
        )
        yield _epoch_row(capture, epoch, row, agrees=agrees)
        is_newest = False
        if start is not None:
            next_start = start if next_start is None else min(next_start, start)


def _epoch_row(capture: Row, epoch: int, found: Row, *, agrees: bool) -> Row:
    change = found["leader_change"] or dict.fromkeys(_OF_CHANGE)
    return {
        **{name: capture[name] for name in (*REPLICA_KEYS, "capture_id")},
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
    """Whether the epoch's first record is its LEADER_CHANGE. This record may be absent where the
    epoch's head was deleted. True for an epoch that the log doesn't have."""
    start, change = found["start_offset"], found["leader_change"]
    if start is None:
        return True
    if change is None:
        return bool(start == first_offset and start > 0)
    return bool(change["offset"] == start)


def _checkpoint_agrees(found: Row, capture: Row, *, is_newest: bool) -> bool:
    """Whether the checkpoint has the epoch where it must. The checkpoint starts at the log start
    (LeaderEpochFileCache.truncateFromStart).

    An epoch that ends at or below the log start is absent. The epoch in force at the log start is
    never absent. An epoch without batches is the newest one, at the log end: the leader enters it
    before it writes (KafkaMetadataLog.initializeLeaderEpoch).
    """
    start, entry = found["start_offset"], found["checkpoint_start"]
    log_start = capture["log_start_offset"]
    if start is None:
        return bool(is_newest and entry == capture["log_end_offset"])
    is_below_start = found["end_offset"] <= log_start
    if entry is None:
        return bool(is_below_start)
    return bool(entry == max(start, log_start) and (not is_below_start or is_newest))
