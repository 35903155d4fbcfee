"""Makes the log (ReplicaLog) of each capture's batches. replica.history compares these logs.

replica.history gets runs of batches instead of batches. A run is a range of neighbouring batches of
one epoch that every log of a capture group holds either completely or not at all. replica.history
compares epochs and contents at offsets, so runs give the same results as their batches. The logs of
a quorum differ at few places, so a log of a hundred thousand batches has a handful of runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np

from pipelines.cluster.aggregates import by_capture, grouped
from pipelines.cluster.batches import Longs, Places
from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.cluster.control import BatchKey, ControlRecords, SnapshotKey
from pipelines.cluster.rows import Row
from pipelines.tables.keys import replica_of, snapshot_key
from replica.doctor.check.catalogue.log import ZERO_HOLE
from replica.format.file_names import FileKind, classify
from replica.history.log import LogBatch, ReplicaLog
from replica.model.epochs import UNDEFINED_EPOCH, OffsetAndEpoch
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.voters import VoterKeys, VotersAt

_MOST_PLACES = 8_000_000
"""The most indexes of batches that HeldBatches keeps in memory, for all captures together."""


def one_row_per_capture(captures: Iterable[Row]) -> list[Row]:
    """One row for each capture: capture_id, REPLICA_KEYS, captured_at, log_start_offset,
    log_end_offset, source.

    captures: rows of bronze.captures, in which an unchanged replica has the same capture_id in
    several groups. All of these saw the same files, so the first time and the first source
    count.
    """
    return [
        {
            **min(rows, key=itemgetter("captured_at", "log_start_offset", "log_end_offset")),
            "source": min(rows, key=itemgetter("ingest_seq", "source"))["source"],
        }
        for rows in grouped(captures, itemgetter("capture_id")).values()
    ]


class HeldBatches:
    """The undamaged batches in the .log files of each capture. To save memory, an object keeps the
    indexes of the batches of only a few captures. control: the result of control_records."""

    def __init__(self, bronze: BronzeRows, control: Mapping[BatchKey, ControlRecords]) -> None:
        self.batches = bronze.batches
        self.captures = {row["capture_id"]: row for row in one_row_per_capture(bronze.captures)}
        self._control = control
        self._places: dict[str, Places] = {}

    def places(self, capture_id: str) -> Places:
        """The capture's batches as indexes of `batches`, ascending by offset. Empty for an unknown
        capture."""
        if capture_id not in self._places:
            if capture_id not in self.captures:
                return np.zeros(0, np.int64)
            while self._places and sum(map(len, self._places.values())) > _MOST_PLACES:
                del self._places[next(iter(self._places))]
            capture = self.captures[capture_id]
            self._places[capture_id] = self.batches.held_at(
                replica_of(capture), capture["captured_at"]
            )
        return self._places[capture_id]

    def last_in_log(self, capture_id: str) -> int | None:
        """The index in `batches` of the last batch of the capture's log (see in_log); None for a
        log without batches."""
        places = self.batches.in_log(self.places(capture_id))
        return int(places[-1]) if len(places) else None

    def control(self, capture_id: str) -> list[ControlRecords]:
        """The control records of the capture's batches that have any, in their order."""
        places, records = self._with_control
        is_held = np.isin(places, self.places(capture_id), assume_unique=True)
        return [records[index] for index in np.flatnonzero(is_held).tolist()]

    @cached_property
    def _with_control(self) -> tuple[Places, list[ControlRecords]]:
        found = [(self.batches.place_of(key), records) for key, records in self._control.items()]
        known = sorted((one for one in found if one[0] is not None), key=itemgetter(0))
        return np.array([place for place, _ in known], np.int64), [one for _, one in known]


class ReplicaLogs:
    """The logs of captures as replica.history compares them.

    held: the batches that the captures held.
    snapshot_sets: from snapshot_voter_sets.
    unsynced_from: ReplicaLog.unsynced_from by the ids of the captures that have one.
    """

    def __init__(
        self,
        bronze: BronzeRows,
        held: HeldBatches,
        snapshot_sets: Mapping[SnapshotKey, Sequence[Row]],
    ) -> None:
        self._held, self._snapshot_sets = held, snapshot_sets
        whole = (row for row in bronze.snapshots if row["is_whole"])
        self._snapshots = by_capture(whole)
        self._epochs = {row["capture_id"]: row["leader_epoch"] for row in bronze.state}
        self._leaders = {row["capture_id"]: row["leader_id"] for row in bronze.state}
        self._votes = {row["capture_id"]: row["voted_id"] for row in bronze.state}
        self.unsynced_from = unsynced_from(bronze.findings)

    def key(self, capture_id: str) -> ReplicaKey:
        """The replica that the capture's log belongs to."""
        capture = self._held.captures[capture_id]
        return ReplicaKey(capture["node_id"], capture["directory_id"])

    def of_group(self, captures: Sequence[str]) -> list[ReplicaLog]:
        """The log of each capture of one group. Its batches are replaced by the runs of
        pipelines.cluster.replica_logs. Raises KeyError for an unknown capture."""
        runs = runs_of([self._entries(capture_id) for capture_id in captures])
        return list(map(self._log, captures, runs))

    def _entries(self, capture_id: str) -> HeldEntries:
        batches = self._held.batches
        places = batches.in_log(self._held.places(capture_id))
        columns = batches.entries, batches.base_offset, batches.last_offset, batches.leader_epoch
        return HeldEntries(*(column[places] for column in columns))

    def _log(self, capture_id: str, runs: tuple[LogBatch, ...]) -> ReplicaLog:
        held, snapshots = self._held, self._snapshots.get(capture_id, ())
        in_log: list[VotersAt] = []
        changes: list[VotersAt] = []
        led: set[int] = set()
        key = self.key(capture_id)
        for control in held.control(capture_id):
            in_log += map(_voters_at, control.voter_sets)
            if control.leader_change is not None:
                changes.append(_voters_at(control.leader_change))
                if control.leader_change["leader_id"] == key.node_id:
                    led.add(control.leader_change["epoch"])
        in_snapshots = (
            VotersAt(row["end_offset"] - 1, found["epoch"], voter_keys(found["voters"]))
            for row in snapshots
            for found in self._snapshot_sets.get(snapshot_key(row), ())
        )
        quorum_epoch = self._epochs.get(capture_id)
        return ReplicaLog(
            key=key,
            log_start=held.captures[capture_id]["log_start_offset"],
            batches=runs,
            snapshots=tuple(
                sorted({OffsetAndEpoch(row["end_offset"], row["epoch"]) for row in snapshots})
            ),
            quorum_epoch=UNDEFINED_EPOCH if quorum_epoch is None else quorum_epoch,
            voter_sets=tuple(sorted({*in_log, *in_snapshots}, key=_place)),
            leader_changes=tuple(sorted(set(changes), key=_place)),
            led_epochs=frozenset(led),
            unsynced_from=self.unsynced_from.get(capture_id),
            quorum_leader=NO_NODE if (leader := self._leaders.get(capture_id)) is None else leader,
            quorum_vote=NO_NODE if (vote := self._votes.get(capture_id)) is None else vote,
        )


def unsynced_from(found: Iterable[Row]) -> dict[str, int]:
    """ReplicaLog.unsynced_from of each capture whose log has a run of zeros between batches. found:
    rows of bronze.findings."""
    starts: dict[str, int] = {}
    for row in found:
        name = classify(os.path.basename(row["file"]))
        if row["rule"] == ZERO_HOLE.id and name.kind is FileKind.SEGMENT:
            start = (name.base_offset or 0) if row["offset"] is None else row["offset"]
            capture_id = row["capture_id"]
            starts[capture_id] = min(start, starts.get(capture_id, start))
    return starts


def _voters_at(found: Row) -> VotersAt:
    return VotersAt(found["offset"], found["epoch"], voter_keys(found["voters"]))


def voter_keys(voters: Sequence[Row] | None) -> VoterKeys:
    """The voters' keys. Empty for a record that could not be decoded; then no majority proves
    anything."""
    return frozenset(
        ReplicaKey(voter["voter_id"], voter["directory_id"] or ZERO_UUID) for voter in voters or ()
    )


def _place(found: VotersAt) -> tuple[Any, ...]:
    return found.offset, found.epoch, sorted(found.voters)


_NONE, _SEVERAL, _UNSEEN = -1, -2, -3
"""Stand for the neighbour of an entry. _NONE: the entry has no neighbour in the logs. _SEVERAL: two
logs have different neighbours of the entry. _UNSEEN: no log has held the entry so far."""


@dataclass(frozen=True)
class HeldEntries:
    """The batches of one log, sorted by offset, not overlapping."""

    entry: Longs
    """A number for each batch, from 0 on, which is the same for equal batches of all logs."""
    base_offset: Longs
    """The first offset of each batch, inclusive."""
    last_offset: Longs
    """The last offset of each batch, inclusive."""
    epoch: Longs


def runs_of(logs: Sequence[HeldEntries]) -> list[tuple[LogBatch, ...]]:
    """The runs of each log, as the batches that replica.history compares."""
    count = max((int(log.entry.max()) + 1 for log in logs if len(log.entry)), default=0)
    before, behind = np.full((2, count), _UNSEEN)
    for log in logs:
        previous, following = _neighbours(log)
        for known, found in ((before, previous), (behind, following)):
            is_same = (known[log.entry] == _UNSEEN) | (known[log.entry] == found)
            known[log.entry] = np.where(is_same, found, _SEVERAL)
    begins = before < 0
    others = np.flatnonzero(~begins)
    begins[others] = behind[before[others]] != others
    return [_runs(log, np.flatnonzero(begins[log.entry])) for log in logs]


def _neighbours(log: HeldEntries) -> tuple[Longs, Longs]:
    """(the entry right before, the entry right after) for each entry of the log; _NONE where there
    is none. An entry of another epoch, and an entry beyond a hole, is no neighbour."""
    is_next = (log.base_offset[1:] == log.last_offset[:-1] + 1) & (log.epoch[1:] == log.epoch[:-1])
    previous, following = np.full((2, len(log.entry)), _NONE)
    previous[1:] = np.where(is_next, log.entry[:-1], _NONE)
    following[:-1] = np.where(is_next, log.entry[1:], _NONE)
    return previous, following


def _runs(log: HeldEntries, firsts: Longs) -> tuple[LogBatch, ...]:
    """The runs that begin at these indexes. The first entry stands for the content of its run,
    because all logs that hold this entry hold the same run."""
    lasts = np.append(firsts, len(log.entry))[1:] - 1
    columns = log.base_offset[firsts], log.last_offset[lasts], log.epoch[firsts], log.entry[firsts]
    return tuple(map(LogBatch, *(column.tolist() for column in columns)))
