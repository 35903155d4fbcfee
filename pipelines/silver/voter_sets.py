"""silver.voter_sets: every voter set that a replica's log, snapshots or quorum-state name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.cluster.bronze_rows import BronzeRows
from pipelines.cluster.control import (
    BatchKey,
    ControlRecords,
    SnapshotKey,
    leader_voters_as_voters,
    node_ids_as_voters,
)
from pipelines.cluster.rows import Row, nulls_first
from pipelines.tables.keys import REPLICA_KEYS

_NO_OFFSET = (1 << 63) - 1


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
    # The same record is in the files of several captures. Contents under one key differ only by
    # damage or in a broken quorum. Then max() always chooses the same content.
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
    """The rows without each LEADER_CHANGE after a voters record, because the LEADER_CHANGE only
    repeats the ids of that record (KIP-853)."""
    offsets = (row["offset"] for row in rows if row["source"] in ("kraft_voters", "snapshot"))
    first = min(offsets, default=_NO_OFFSET)
    return [row for row in rows if row["source"] != "leader_change" or row["offset"] < first]
