"""The voters that each capture's files name: one value for each source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pipelines.in_memory.aggregates import largest
from pipelines.in_memory.control import ControlRecords, SnapshotKey, snapshot_key
from pipelines.in_memory.held import HeldBatches
from pipelines.in_memory.rows import Row
from pipelines.in_memory.voters import (
    configured_voters_as_voters,
    known_directory,
    leader_voters_as_voters,
    node_ids_as_voters,
)

SOURCES = ("configuration", "log", "snapshot", "quorum_state", "meta_properties")


def stated_voters(
    captures: Iterable[Row],
    held: HeldBatches,
    snapshots: Iterable[Row],
    snapshot_voter_sets: Mapping[SnapshotKey, Sequence[Row]],
    state: Iterable[Row],
) -> dict[str, Row]:
    """By capture_id, a dict of SOURCES and `in_force`: the newest value of log and snapshot, else
    quorum-state's.

    snapshot_voter_sets: from pipelines.in_memory.control. The others are bronze's rows. Each value
    is a dict of offset, epoch and voters, None where the source names no voters. The offset is that
    of the record, or the end offset of the snapshot.
    """
    in_snapshots = _in_snapshots(snapshots, snapshot_voter_sets)
    states = {row["capture_id"]: row for row in state}
    return {
        (capture_id := row["capture_id"]): _stated(
            row,
            held.control(capture_id),
            in_snapshots.get(capture_id),
            states.get(capture_id, {}),
        )
        for row in captures
    }


def _stated(
    capture: Row, control: Sequence[ControlRecords], snapshot: Row | None, state: Row
) -> Row:
    """The voters that one capture's files name. control: of the batches of its log."""
    log = _newest_voters_record(control)
    if log is None and snapshot is None:
        # Where there are voters records, LEADER_CHANGE only repeats their ids (KIP-853).
        log = _newest_leader_change(control)
    quorum_state = None
    if state.get("current_voters"):
        voters = node_ids_as_voters(state["current_voters"])
        quorum_state = _named(None, state["leader_epoch"], voters)
    configuration = None
    if state.get("configured_voters"):
        configured = configured_voters_as_voters(state["configured_voters"])
        configuration = _named(None, None, configured)
    newest = log
    if snapshot is not None and snapshot["offset"] > (-1 if log is None else log["offset"]):
        newest = snapshot
    return {
        "configuration": configuration,
        "log": log,
        "snapshot": snapshot,
        "quorum_state": quorum_state,
        "meta_properties": _named(None, None, _itself(capture)),
        "in_force": quorum_state if newest is None else newest,
    }


def _newest_voters_record(control: Iterable[ControlRecords]) -> Row | None:
    return largest(found for one in control for found in one.voter_sets)


def _newest_leader_change(control: Iterable[ControlRecords]) -> Row | None:
    changes = (one.leader_change for one in control if one.leader_change is not None)
    return largest(
        _named(change["offset"], change["epoch"], leader_voters_as_voters(change["voters"]))
        for change in changes
        if change["voters"] is not None
    )


def _in_snapshots(
    snapshots: Iterable[Row], voter_sets: Mapping[SnapshotKey, Sequence[Row]]
) -> dict[str, Row]:
    """By capture_id, the newest voter set in its whole snapshots."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in snapshots:
        if row["is_whole"]:
            sets = voter_sets.get(snapshot_key(row), ())
            for capture_id in row["captures"]:
                found[capture_id] += sets
    newest = ((capture_id, largest(sets)) for capture_id, sets in found.items())
    return {capture_id: one for capture_id, one in newest if one is not None}


def _itself(capture: Row) -> list[Row]:
    voters = node_ids_as_voters([capture["node_id"]]) or []
    return [{**one, "directory_id": known_directory(capture["directory_id"])} for one in voters]


def _named(offset: int | None, epoch: int | None, voters: list[Row] | None) -> Row:
    return {"offset": offset, "epoch": epoch, "voters": voters}
