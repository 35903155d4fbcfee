"""Says where each node's own copy of the log ends, and how far it is behind the newest one, in
records and in time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from replica.doctor.check.examined import Examined
from replica.doctor.check.lineage import LogParting
from replica.doctor.quorum.log_ends import Behind, OwnEnd, lag_ms, own_ends_of
from replica.model.keys import ReplicaKey


def behind_newest(
    logs: Sequence[Examined], partings: Iterable[LogParting], beside: Collection[ReplicaKey] = ()
) -> tuple[Behind | None, ...]:
    """How far each of these logs of one cluster is behind the newest of them, in the same order.

    A value is None if it isn't known. This is so for a single file, for a copy that breaks off, for
    a log without records, and for a log of another history. partings: the places where these logs
    diverge. beside: the replicas whose logs are of another history.
    """

    def is_compared(own: Examined) -> bool:
        is_beside = own.replica is not None and own.owner.key in beside
        return _tells_its_end(own) and not is_beside

    told = [one if is_compared(one) else None for one in logs]
    newest = max((one for one in told if one is not None), key=_position, default=None)
    if newest is None:
        return (None,) * len(told)
    leader = newest.replica
    parts = {
        one.loser: one.offset
        for one in partings
        if leader is not None and leader.node_id in one.others
    }

    def common_end(own: Examined) -> int:
        end = own.directory.log_end_offset
        diverges = own.replica is not None and own is not newest
        return min(end, parts.get(own.owner.key, end)) if diverges else end

    return tuple(None if one is None else behind(one, common_end(one), newest) for one in told)


def behind(own: Examined, common_end: int, newest: Examined) -> Behind:
    """How far the log `own` is behind the newest log. common_end: the end (exclusive) of the part
    that `own` has in common with the newest log."""
    goes_to = newest.directory.log_end_offset
    end = min(common_end, goes_to)
    last = own.time_at(end - 1)
    if last is None:  # it has a snapshot in the place of this record, or can't be read there
        last = newest.time_at(end - 1)
    return Behind(goes_to - end, lag_ms(last, newest.time_at(goes_to - 1)))


def own_ends(members: Iterable[Examined]) -> dict[int, OwnEnd]:
    """The last record in the log of each node, by node id. If a node has several logs, the last
    record of the longest one. A directory is left out if its replica is unknown, or if its last
    batch has no time."""
    return own_ends_of(_ends(members))


def _ends(members: Iterable[Examined]) -> Iterator[tuple[int, OwnEnd]]:
    for examined in members:
        last = examined.last_batch
        if examined.replica is not None and last is not None:
            at = None if last.header.max_timestamp < 0 else last.header.max_timestamp
            yield examined.replica.node_id, OwnEnd(last.header.next_offset - 1, at)


def _tells_its_end(examined: Examined) -> bool:
    is_whole = examined.is_directory and examined.is_complete
    return is_whole and examined.last_batch is not None


def _position(examined: Examined) -> tuple[int, int]:
    last = examined.last_batch
    assert last is not None, "only logs with records are compared"
    return last.header.leader_epoch, examined.directory.log_end_offset
