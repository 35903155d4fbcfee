"""Two histories of one cluster: logs that can't both come from one run of Raft."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from replica.history.commitment import GroupComparison
from replica.history.log import ReplicaLog
from replica.model.keys import ReplicaKey
from replica.words import named


@dataclass(frozen=True, slots=True, order=True)
class LogConflict:
    """Two replicas whose logs can't both come from Raft (see Relation.CONFLICT)."""

    a: ReplicaKey
    b: ReplicaKey
    offset: int
    """The first offset at which the two logs differ. They may conflict only at a later offset (see
    Comparison.conflict_offset)."""


def conflicts_in(group: GroupComparison) -> Iterator[LogConflict]:
    """The pairs of replicas in conflict, in no particular order."""
    for pair, one in group.pairs.items():
        if one.conflict_offset is not None and one.divergence_offset is not None:
            yield LogConflict(min(pair), max(pair), one.divergence_offset)


def is_beside(group: GroupComparison, newest: ReplicaLog, log: ReplicaLog) -> bool:
    """Whether a log is of another history than the newest log. Such a log isn't behind: when its
    node starts, it doesn't get the newest log's records."""
    return log is not newest and group.between(newest.key, log.key).conflict_offset is not None


def sides_of(conflicts: Iterable[LogConflict]) -> list[list[int]]:
    """The ids of the nodes of each history, sorted. Nodes whose logs conflict with no other log are
    left out: they have only records that the histories share."""
    against: dict[int, set[int]] = {}
    for one in conflicts:
        against.setdefault(one.a.node_id, set()).add(one.b.node_id)
        against.setdefault(one.b.node_id, set()).add(one.a.node_id)
    sides: list[list[int]] = []
    for node in sorted(against):
        mine = (side for side in sides if against[node].isdisjoint(side))
        side = next(mine, None)
        if side is None:
            sides.append([node])
        else:
            side.append(node)
    return sides


def histories_text(conflicts: Iterable[LogConflict]) -> str:
    """A clause that says that there are several histories, which nodes have each of them, and from
    which offset on they differ. conflicts: at least one."""
    found = [*conflicts]
    offset = min(one.offset for one in found)
    sides = [named("node", [*map(str, side)]) for side in sides_of(found)]
    several = "two" if len(sides) == 2 else "several"
    against = " against ".join(sides)
    return f"there are {several} histories, {against}: their logs differ from offset {offset} on"
