"""gold.voter_beliefs: the nodes that each replica takes for voters; and the voters that each source
in a capture's files names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter

from pipelines.cluster.aggregates import all_true, any_true, are_equal, by_capture, grouped, largest
from pipelines.cluster.control import (
    ControlRecords,
    SnapshotKey,
    configured_voters_as_voters,
    known_directory,
    leader_voters_as_voters,
    node_ids_as_voters,
    voter,
)
from pipelines.cluster.replica_logs import HeldBatches
from pipelines.cluster.rows import Row, nulls_first
from pipelines.gold.replica_status import OF_CAPTURE
from pipelines.silver.capture_groups import newest_group
from pipelines.tables.keys import snapshot_key

SOURCES = ("configuration", "log", "snapshot", "quorum_state", "meta_properties")


def stated_voters(
    captures: Iterable[Row],
    held: HeldBatches,
    snapshots: Iterable[Row],
    snapshot_voter_sets: Mapping[SnapshotKey, Sequence[Row]],
    state: Iterable[Row],
) -> dict[str, Row]:
    """By capture_id, a dict with the value of each of SOURCES, and `in_force`: the newer value of
    log and snapshot, or else the value of quorum-state.

    A value is a dict of offset, epoch and voters; None where the source names no voters. The offset
    is the record's, or the snapshot's end offset. snapshot_voter_sets: from
    pipelines.cluster.control. The other arguments are bronze's rows.
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
    """The voters that one capture's files name. control: the control records of
    the capture's log."""
    log = largest(found for one in control for found in one.voter_sets)
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
    itself = voter(capture["node_id"], known_directory(capture["directory_id"]))
    newest = log
    if snapshot is not None and snapshot["offset"] > (-1 if log is None else log["offset"]):
        newest = snapshot
    return {
        "configuration": configuration,
        "log": log,
        "snapshot": snapshot,
        "quorum_state": quorum_state,
        "meta_properties": _named(None, None, [itself]),
        "in_force": quorum_state if newest is None else newest,
    }


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
    """By capture_id, the newest voter set in the capture's whole snapshots."""
    whole = by_capture(row for row in snapshots if row["is_whole"])
    newest = {
        capture_id: largest(one for row in rows for one in voter_sets.get(snapshot_key(row), ()))
        for capture_id, rows in whole.items()
    }
    return {capture_id: one for capture_id, one in newest.items() if one is not None}


def _named(offset: int | None, epoch: int | None, voters: list[Row] | None) -> Row:
    return {"offset": offset, "epoch": epoch, "voters": voters}


def voter_beliefs(
    captures: Sequence[Row], stated: Mapping[str, Row], groups: Sequence[Row]
) -> Iterator[Row]:
    """Rows of gold.voter_beliefs.

    captures: rows of bronze.captures.
    stated: the result of stated_voters.
    groups: rows of group_findings.
    """
    newest = newest_group(groups)
    members = grouped(captures, itemgetter("capture_group"))
    for group in groups:
        name = group["capture_group"]
        of_group = members.get(name, ())
        reference = _reference(group, of_group, stated)
        for capture in of_group:
            named = stated[capture["capture_id"]]
            yield from _of_capture(capture, named, reference, name == newest)


def _reference(
    group: Row, members: Sequence[Row], stated: Mapping[str, Row]
) -> Sequence[Row] | None:
    """The voters that one replica names: the replica that would win an election among those that
    name voters. None where no replica names voters. Of replicas at the same position the last one
    of `members` counts, as in Spark's max_by."""
    positions = {one["capture_id"]: one["position"] for one in group["progress"] or ()}
    ids = [one["capture_id"] for one in members if one["capture_id"] in positions]
    naming = [one for one in reversed(ids) if stated[one]["in_force"] is not None]
    highest = max(naming, key=lambda one: nulls_first(positions[one]), default=None)
    return None if highest is None else stated[highest]["in_force"]["voters"]


def _of_capture(
    capture: Row, stated: Row, reference: Sequence[Row] | None, is_latest: bool
) -> Iterator[Row]:
    for source in SOURCES:
        named = stated[source]
        if named is not None:
            # A snapshot of older voters, which the replica's own log has overtaken, doesn't count.
            is_overtaken = source in ("log", "snapshot") and named != stated["in_force"]
            if source == "meta_properties":
                agrees = _itself_agrees(named["voters"], reference, capture["node_id"])
            else:
                agrees = _agrees(named["voters"], reference, is_overtaken=is_overtaken)
            about = {name: capture[name] for name in OF_CAPTURE}
            yield {**about, "is_latest": is_latest, "source": source, **named, "agrees": agrees}


def _agrees(
    voters: Sequence[Row] | None, reference: Sequence[Row] | None, *, is_overtaken: bool
) -> bool | None:
    sizes = (None if one is None else len(one) for one in (voters, reference))
    is_same = all_true((are_equal(*sizes), _all_match(voters, reference)))
    return is_same if is_same or not is_overtaken else None


def _itself_agrees(
    voters: Sequence[Row], reference: Sequence[Row] | None, node: int
) -> bool | None:
    """Whether the reference names this replica as a voter with the same directory, or as a voter
    without a directory. voters: the replica itself, as its meta.properties names it. node: its node
    id. None where the reference names no voter with this id."""
    is_voter = (
        None if reference is None else any_true(are_equal(r["voter_id"], node) for r in reference)
    )
    return _all_match(voters, reference) if is_voter else None


def _all_match(voters: Sequence[Row] | None, reference: Sequence[Row] | None) -> bool | None:
    if voters is None:
        return None
    return all_true(_has(reference, one) for one in voters)


def _has(reference: Sequence[Row] | None, one: Row) -> bool | None:
    return None if reference is None else any_true(_is(one, other) for other in reference)


def _is(one: Row, other: Row) -> bool | None:
    """Whether two voters may be the same; None where a node id is unknown. A voter without a
    directory id may have any directory."""
    directories = (known_directory(voter["directory_id"]) for voter in (one, other))
    return all_true(
        (are_equal(one["voter_id"], other["voter_id"]), are_equal(*directories) is not False)
    )
