"""The capture that shows the newest state of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from pipelines.cluster.batches import NO_TIME
from pipelines.cluster.replica_logs import HeldBatches
from pipelines.cluster.rows import Row, milliseconds
from replica.doctor.health.cluster import Lag
from replica.doctor.quorum.known_quorum import KnownQuorum
from replica.doctor.quorum.log_ends import COPYING_MS, OwnEnd, own_ends_of

_US_PER_MS = 1000


def newest_states(
    status: Sequence[Row],
    captures: Iterable[Row],
    ranges: Iterable[Row],
    epochs: Iterable[Row],
    agreed_end: int,
) -> Iterator[Row]:
    """A row about the newest state of a cluster; no row where the lake knows no state of it.

    status, captures, ranges, epochs: the cluster's rows of gold.replica_status, bronze.captures,
    gold.state_ranges and gold.leader_epoch_history. agreed_end: the end (exclusive) of the agreed
    branch over all captures; the branch of an earlier round may have had more.

    The row names one capture by node_id, directory_id, capture_id and source: the capture that
    reaches furthest into the state. Where several reach as far, it is the newest of them, and then
    the one with the lowest node id. The row also has cluster_id, end_offset (of the state,
    exclusive), from_offset (where the replay that gives the state begins), is_whole (whether no
    record is known beyond the state), voters (node ids, of the newest leader's epoch) and now_ms
    (the time of the last record in the named capture's log, in ms since 1970; None if unknown).
    """
    known = newest_range(ranges)
    if known is None or not status:
        return
    end = known["to_offset"]
    chosen = max(status, key=lambda row: _preference(row, end))
    at = chosen["last_append_time"]
    yield {
        **{name: chosen[name] for name in _NAMES},
        "source": _places(captures)[chosen["capture_id"]],
        "end_offset": end,
        "from_offset": known["from_offset"],
        "is_whole": max(agreed_end, *(row["snapshot_end_offset"] or 0 for row in status)) <= end,
        "voters": voters_below(epochs, end),
        "now_ms": None if at is None else milliseconds(at),
    }


def lags_of(status: Iterable[Mapping[str, Any]], quorum: KnownQuorum) -> dict[int, Lag]:
    """The value for Cluster.lags, by the newest capture group. A node with several logs gets the
    least of their lags. Voters whose disks are in doubt get none. Nodes whose logs have diverged
    get none, because neither log is behind the other. A lag below COPYING_MS counts only if the
    quorum has no leader. status: rows of gold.replica_status. quorum: what the captures prove about
    the quorum."""
    least: dict[int, Lag] = {}
    for row in status:
        node, end, ms = row["node_id"], row["agreed_end_offset"], row["lag_ms"]
        if row["is_latest"] and end is not None and ms is not None:
            least[node] = min(least.get(node, Lag(end, ms)), Lag(end, ms), key=itemgetter(1))
    doubted = {voter.key.node_id for voter in quorum.voters if voter.doubt is not None}
    doubted |= {key.node_id for one in quorum.conflicts for key in (one.a, one.b)}
    late = {one.key.node_id for one in quorum.behind} if quorum.is_leaderless else set()
    return {
        node: lag
        for node, lag in least.items()
        if (lag.ms >= COPYING_MS or node in late) and node not in doubted
    }


def own_ends_in(captures: Iterable[Row], held: HeldBatches) -> dict[int, OwnEnd]:
    """The value for Cluster.own_ends, by the newest capture group. captures: the group's rows of
    bronze.captures. held: the batches that the captures held."""
    return own_ends_of(_ends(captures, held))


def _ends(captures: Iterable[Row], held: HeldBatches) -> Iterator[tuple[int, OwnEnd]]:
    batches = held.batches
    for capture in captures:
        last = held.last_in_log(capture["capture_id"])
        if last is not None:
            at = int(batches.max_timestamp[last])
            time = None if at == NO_TIME else at // _US_PER_MS
            yield capture["node_id"], OwnEnd(int(batches.last_offset[last]), time)


def _places(captures: Iterable[Row]) -> dict[str, str]:
    """By capture_id: the source from which the capture was first ingested."""
    ordered = sorted(captures, key=lambda row: (row["ingest_seq"], row["source"]), reverse=True)
    return {row["capture_id"]: row["source"] for row in ordered}


def _agreed_end(row: Row) -> int:
    """The end (exclusive) of the agreed branch in the capture's log or newest snapshot."""
    return max(row["agreed_end_offset"] or 0, row["snapshot_end_offset"] or 0)


def _preference(row: Row, end: int) -> tuple[int, datetime, int, str]:
    return min(_agreed_end(row), end), row["captured_at"], -row["node_id"], row["directory_id"]


def newest_range(ranges: Iterable[Row]) -> Row | None:
    """The row of gold.state_ranges that ends with a cluster's newest state; None where no state is
    known. ranges: the cluster's rows of gold.state_ranges."""
    return max(ranges, key=itemgetter("to_offset"), default=None)


def voters_below(epochs: Iterable[Row], end: int) -> list[int]:
    """The node ids of the voters of the newest epoch below the end whose voters are known. epochs:
    as in `newest_states`."""
    named = [
        row
        for row in epochs
        if row["voters"] and row["start_offset"] is not None and row["start_offset"] < end
    ]
    if not named:
        return []
    newest = max(named, key=lambda row: row["epoch"])
    return sorted(voter["voter_id"] for voter in newest["voters"])


_NAMES = ("cluster_id", "node_id", "directory_id", "capture_id")
