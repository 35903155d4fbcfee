"""Finds how far each replica's log is behind the newest log, in records and in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replica.doctor.check.examined import Examined
from replica.doctor.verdict.evidence_of_directories import JudgedCluster
from replica.doctor.verdict.verdict import Behind
from replica.model.keys import ReplicaKey


def behind_of(cluster: JudgedCluster) -> Sequence[Behind | None]:
    """For each member of the cluster, how far its log is behind; None if this is unknown: for a
    single file, an incomplete copy, and a log without records."""
    logs = [one.examined if _tells_its_end(one.examined) else None for one in cluster.members]
    newest = max((one for one in logs if one is not None), key=_position, default=None)
    if newest is None:
        return [None] * len(logs)
    leader = newest.replica
    parts = {
        one.loser: one.offset
        for one in cluster.partings
        if leader is not None and leader.node_id in one.others
    }
    return [None if one is None else _behind(one, newest, parts) for one in logs]


def _tells_its_end(examined: Examined) -> bool:
    is_whole = examined.is_directory and examined.is_complete
    return is_whole and examined.last_batch is not None


def _position(examined: Examined) -> tuple[int, int]:
    last = examined.last_batch
    assert last is not None, "only logs with records are compared"
    return last.header.leader_epoch, examined.directory.log_end_offset


def _behind(own: Examined, newest: Examined, parts: Mapping[ReplicaKey, int]) -> Behind:
    end, goes_to = own.directory.log_end_offset, newest.directory.log_end_offset
    if own.replica is not None and own is not newest:
        end = min(end, parts.get(own.replica.key, end))
    end = min(end, goes_to)
    mine, last = _time_at(own, end - 1), _time_at(newest, goes_to - 1)
    ms = None if mine is None or last is None else max(last - mine, 0)
    return Behind(goes_to - end, ms)


def _time_at(examined: Examined, offset: int) -> int | None:
    held = examined.batch_at(offset)
    at = -1 if held is None else held[1].header.max_timestamp
    return None if at < 0 else at
