"""gold.replica_status: the role, log and progress of each replica in each capture group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from pipelines.cluster.aggregates import all_true, any_true, are_equal, by_capture, grouped, largest
from pipelines.cluster.batches import NO_TIME, Longs
from pipelines.cluster.control import known_directory
from pipelines.cluster.replica_logs import HeldBatches
from pipelines.cluster.rows import Row, from_microseconds, milliseconds, nulls_first
from pipelines.silver.capture_groups import newest_group
from pipelines.tables.keys import REPLICA_KEYS
from replica.doctor.quorum.log_ends import lag_ms

OF_CAPTURE = (*REPLICA_KEYS, "capture_group", "capture_id", "captured_at", "round_name")
"""Columns of bronze.captures that tables about captures have, too."""


class _LogTimes(NamedTuple):
    """Facts of a capture's log; None where a fact is unknown."""

    last_epoch: int | None = None
    last_append_time: datetime | None = None
    agreed_time: datetime | None = None
    """The time of the newest record that both the log and the agreed branch have; None if
    unknown."""


class _Snapshot(NamedTuple):
    """A whole snapshot; all fields are None for a capture without one."""

    epoch: int | None = None
    end_offset: int | None = None
    """The end offset of the snapshot, exclusive."""
    time: datetime | None = None


class _Parts(NamedTuple):
    """The input of the rows of gold.replica_status."""

    held: HeldBatches
    snapshots: Mapping[str, _Snapshot]
    """The newest whole snapshot, by capture_id."""
    state: Mapping[str, Row]
    """The row of bronze.replica_state, by capture_id."""
    stated: Mapping[str, Row]
    """By capture_id: the voters that a capture's files name."""
    groups: Mapping[str, Row]
    """The rows of group_findings, by the name of the group."""
    newest: str | None
    """The name of the newest group; None without any group."""


def replica_status(
    captures: Iterable[Row],
    held: HeldBatches,
    snapshots: Iterable[Row],
    state: Iterable[Row],
    stated: Mapping[str, Row],
    groups: Sequence[Row],
) -> Iterator[Row]:
    """Rows of gold.replica_status.

    captures: the cluster's rows of bronze.captures.
    held: the batches that each capture held.
    snapshots: the cluster's rows of bronze.snapshots.
    state: the cluster's rows of bronze.replica_state.
    stated: the result of stated_voters.
    groups: rows of group_findings.
    """
    parts = _Parts(
        held=held,
        snapshots=_newest_snapshots(snapshots),
        state={row["capture_id"]: row for row in state},
        stated=stated,
        groups={row["capture_group"]: row for row in groups},
        newest=newest_group(groups),
    )
    for name, members in grouped(captures, itemgetter("capture_group")).items():
        yield from _with_lag(members, name, parts)


def _newest_snapshots(snapshots: Iterable[Row]) -> dict[str, _Snapshot]:
    """By capture_id, the newest whole snapshot that the capture held, except 0-0."""
    wanted = (row for row in snapshots if row["is_whole"] and row["end_offset"] > 0)
    columns = itemgetter("epoch", "end_offset", "last_contained_log_timestamp")
    return {
        capture_id: _Snapshot(*max(map(columns, rows), key=nulls_first))
        for capture_id, rows in by_capture(wanted).items()
    }


def _with_lag(members: Sequence[Row], name: str, parts: _Parts) -> Iterator[Row]:
    """The rows of one group's captures. Each row says how far the replica is behind the others."""
    group = parts.groups.get(name, {})
    progress = {one["capture_id"]: one for one in group.get("progress") or ()}
    shared: list[int | None] = []
    rows = []
    for capture in members:
        own = progress.get(capture["capture_id"], {})
        times = _log_times(parts.held, capture["capture_id"], own.get("agreed_end"))
        snapshot = parts.snapshots.get(capture["capture_id"], _Snapshot())
        # A log that begins at a snapshot holds no records from before.
        at = times.agreed_time or snapshot.time
        shared.append(None if at is None else milliseconds(at))
        row = _row(capture, parts, times, snapshot)
        row["lag_records"] = _behind(group.get("branch_end"), own.get("agreed_end"))
        rows.append({**row, "is_latest": name == parts.newest, **_progress(own)})
    newest = largest(shared)
    for row, at_ms in zip(rows, shared, strict=True):
        yield {**row, "lag_ms": lag_ms(at_ms, newest)}


def _log_times(held: HeldBatches, capture_id: str, agreed_end: int | None) -> _LogTimes:
    """The facts of a capture's log. agreed_end: the end (exclusive) of the part of the log that the
    agreed branch has, too; None where the log was compared with no other log."""
    places = held.places(capture_id)
    if agreed_end is None or not len(places):
        return _LogTimes()
    times = held.batches.max_timestamp[places]
    is_agreed = held.batches.base_offset[places] < agreed_end
    last_epoch = int(held.batches.leader_epoch[places].max())
    return _LogTimes(last_epoch, _newest(times), _newest(times[is_agreed]))


def _newest(times: Longs) -> datetime | None:
    newest = int(times.max(initial=NO_TIME))
    return None if newest == NO_TIME else from_microseconds(newest)


def _behind(branch_end: int | None, agreed_end: int | None) -> int:
    """The number of offsets of the branch beyond agreed_end (see _log_times). branch_end:
    exclusive. 0 where one of the two is unknown."""
    return 0 if branch_end is None or agreed_end is None else max(branch_end - agreed_end, 0)


def _row(capture: Row, parts: _Parts, times: _LogTimes, snapshot: _Snapshot) -> Row:
    state = parts.state.get(capture["capture_id"], {})
    in_force = parts.stated[capture["capture_id"]]["in_force"]
    is_voter = _is_voter(capture, None if in_force is None else in_force["voters"])
    return {
        **{name: capture[name] for name in OF_CAPTURE},
        "role": _role(state, capture["node_id"], is_voter),
        "is_voter": is_voter,
        "leader_id": _known_node(state.get("leader_id")),
        "leader_epoch": state.get("leader_epoch"),
        "voted_id": _known_node(state.get("voted_id")),
        "voted_directory_id": known_directory(state.get("voted_directory_id")),
        "log_start_offset": capture["log_start_offset"],
        "log_end_offset": capture["log_end_offset"],
        "last_epoch": times.last_epoch,
        "last_append_time": times.last_append_time,
        "snapshot_end_offset": snapshot.end_offset,
        "snapshot_epoch": snapshot.epoch,
    }


def _progress(own: Row) -> Row:
    """The columns that come from an entry of the group's `progress`. own: that entry, or an empty
    dict."""
    columns = {
        "high_watermark": "high_watermark",
        "high_watermark_evidence": "evidence",
        "evidence_offset": "evidence_offset",
        "evidence_epoch": "evidence_epoch",
        "evidence_holders": "holders",
        "agreed_end_offset": "agreed_end",
        "own_records": "own_records",
    }
    return {column: own.get(name) for column, name in columns.items()}


def _is_voter(capture: Row, voters: Sequence[Row] | None) -> bool | None:
    """Whether the replica is a voter. None where no file names voters."""

    def is_it(voter: Row) -> bool | None:
        directory = known_directory(voter["directory_id"])
        is_directory = are_equal(directory, capture["directory_id"]) is not False
        return all_true((are_equal(voter["voter_id"], capture["node_id"]), is_directory))

    return None if voters is None else any_true(is_it(voter) for voter in voters)


def _role(state: Mapping[str, Any], node: int, is_voter: bool | None) -> str | None:
    """The replica's role by its quorum-state, in the words of current-state of KafkaRaftMetrics. A
    node that its own quorum-state names as leader counts as leader, although it would be resigned
    after a restart. None without a quorum-state."""
    leader = state.get("leader_id")
    if state.get("quorum_version") is None:
        return None
    if leader == node:
        return "leader"
    if leader is not None and leader >= 0:
        return "observer" if is_voter is False else "follower"
    return "candidate" if state.get("voted_id") == node else "unattached"


def _known_node(node: int | None) -> int | None:
    """The node's id; None for -1, which stands for no node."""
    return node if node is not None and node >= 0 else None
