"""Two histories of one cluster: logs that can't both come from one run of Raft."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    same_from: int | None = None
    """The offset from which on the two logs are the same again, to the end of the shorter one; None
    if they aren't."""
    mixed: ReplicaKey | None = None
    """The replica of the two whose log isn't as the leader wrote it: below `same_from` the log
    differs from that of the leader who wrote the entry there. None if the logs at hand show of
    neither log that it isn't as written."""


@dataclass(frozen=True, slots=True)
class MixedLogs:
    """Logs that hold entries of two histories, and belong to neither. A log becomes such a mix if
    its node follows the leader of another history: Kafka compares only the ends of epochs, and
    keeps the entries below the end of an epoch that has the same number in both."""

    nodes: tuple[int, ...]
    start: int
    """The first offset at which the two histories differ. Below `seam` the logs hold the entries of
    the history of the nodes `below`."""
    seam: int
    """From this offset on the logs hold the entries of the history of the nodes `above`."""
    below: tuple[int, ...]
    above: tuple[int, ...]

    @property
    def text(self) -> str:
        """A sentence that says which entries of each history the logs hold."""
        is_one = len(self.nodes) == 1
        logs, hold = ("log", "holds") if is_one else ("logs", "hold")
        part = f"offset {self.start}" if self.seam == self.start + 1 else ""
        part = part or f"offsets {self.start} to {self.seam - 1}"
        whose = f"the history of {_named(self.below)}" if self.below else "another history"
        return (
            f"The {logs} of {_named(self.nodes)} {hold} a mix of both histories: {part} of "
            f"{whose}, and from offset {self.seam} on the history of "
            f"{_named(self.above)}. Use the {logs} of {_named(self.nodes)} for neither history."
        )


def mixes_in(conflicts: Iterable[LogConflict]) -> list[MixedLogs]:
    """The logs that mix two histories, by their nodes. Two conditions make a log a mix: it differs
    from another log and is the same again later, and the leader's log or a third log shows that the
    differing entries are of another history."""
    found = [*conflicts]
    parted = {pair: one.offset for one in found for pair in ((one.a, one.b), (one.b, one.a))}
    keys = sorted({key for pair in parted for key in pair})
    shown: dict[ReplicaKey, set[tuple[int, int, ReplicaKey | None, ReplicaKey]]] = {}
    for one in found:
        for mixed, above in ((one.a, one.b), (one.b, one.a)):
            if one.same_from is None or one.mixed == above:
                continue
            seam = one.same_from
            like: set[ReplicaKey | None] = {
                key
                for key in keys
                if parted.get((key, above)) == one.offset
                and parted.get((mixed, key), seam - (one.mixed is None)) >= seam
                and key != mixed
            }
            if one.mixed == mixed:
                like = like or {None}
            shown.setdefault(mixed, set()).update((one.offset, seam, key, above) for key in like)
    return [*_grouped(shown)]


def _grouped(
    shown: Mapping[ReplicaKey, set[tuple[int, int, ReplicaKey | None, ReplicaKey]]],
) -> Iterator[MixedLogs]:
    """One MixedLogs for all mixed logs with the same start and seam. shown: for each mixed log,
    (start, seam, a log of the history below the seam or None, a log of the history above it)."""
    alike: dict[tuple[int, int], list[tuple[ReplicaKey, ReplicaKey | None, ReplicaKey]]] = {}
    for mixed, places in shown.items():
        # logs with several mixes as neighbors seem to be mixed again further up
        place = min(((start, seam) for start, seam, _, _ in places), default=None)
        for start, seam, below, above in places:
            if (start, seam) == place:
                alike.setdefault(place, []).append((mixed, below, above))
    for (start, seam), logs in sorted(alike.items()):
        own = _nodes(mixed for mixed, _, _ in logs)
        lower = {one.node_id for _, one, _ in logs if one is not None}.difference(own)
        upper = {one.node_id for _, _, one in logs}.difference(own)
        yield MixedLogs(own, start, seam, tuple(sorted(lower)), tuple(sorted(upper)))


def whole_conflicts(conflicts: Iterable[LogConflict]) -> list[LogConflict]:
    """The conflicts between logs that aren't a mix of two histories; all conflicts if there are no
    such."""
    found = [*conflicts]
    mixed = {node for one in mixes_in(found) for node in one.nodes}
    whole = [one for one in found if mixed.isdisjoint((one.a.node_id, one.b.node_id))]
    return whole or found


def conflicts_in(group: GroupComparison) -> Iterator[LogConflict]:
    """The pairs of replicas in conflict, in no particular order."""
    for pair, one in group.pairs.items():
        if one.conflict_offset is not None and one.divergence_offset is not None:
            last = one.spans[-1]
            again = last.start if last.same else None
            mixed = None if again is None else _not_as_written(group, pair, again)
            yield LogConflict(min(pair), max(pair), one.divergence_offset, again, mixed)


def _not_as_written(
    group: GroupComparison, pair: tuple[ReplicaKey, ReplicaKey], seam: int
) -> ReplicaKey | None:
    """The value of LogConflict.mixed for a pair whose logs are the same again from `seam` on. A
    leader appends to its own log, so below `seam` the leader's log is the right one. None if no
    leader's log shows which log of the pair is the mix."""
    logs = {log.key: log for log in group.holding}
    batch = logs[pair[0]].batch_at(seam)
    leaders = [log for log in group.holding if batch and batch.epoch in log.led_epochs]
    wrong = {
        key
        for key, other in (pair, pair[::-1])
        for leader in leaders
        if leader.batch_at(seam) == batch
        and leader.key != key
        and _parts_below(group, leader.key, key, seam)
        and not _parts_below(group, leader.key, other, seam)
    }
    return wrong.pop() if len(wrong) == 1 else None


def _parts_below(group: GroupComparison, a: ReplicaKey, b: ReplicaKey, end: int) -> bool:
    parted = None if a == b else group.between(a, b).divergence_offset
    return parted is not None and parted < end


def is_beside(group: GroupComparison, newest: ReplicaLog, log: ReplicaLog) -> bool:
    """Whether a log is of another history than the newest log. Such a log isn't behind: when its
    node starts, it doesn't get the newest log's records."""
    return log is not newest and group.between(newest.key, log.key).conflict_offset is not None


def sides_of(conflicts: Iterable[LogConflict]) -> list[list[int]]:
    """The ids of the nodes of each history, sorted. Nodes whose logs conflict with no other log are
    left out: they have only records that the histories share. So are nodes whose logs are a mix of
    two histories (see mixes_in): no history can go on with such a log. Where one of two logs is a
    mix and nothing shows which, neither is put together with nodes without this doubt."""
    against: dict[int, set[int]] = {}
    again: dict[int, set[int]] = {}
    for one in whole_conflicts(conflicts):
        against.setdefault(one.a.node_id, set()).add(one.b.node_id)
        against.setdefault(one.b.node_id, set()).add(one.a.node_id)
        for node, other in ((one.a.node_id, one.b.node_id), (one.b.node_id, one.a.node_id)):
            if one.same_from is not None:
                again.setdefault(node, set()).add(other)
    sides: list[list[int]] = []
    for node in sorted(against):
        mine = (
            side
            for side in sides
            if against[node].isdisjoint(side) and again.get(node) == again.get(side[0])
        )
        side = next(mine, None)
        if side is None:
            sides.append([node])
        else:
            side.append(node)
    return sides


def histories_text(conflicts: Iterable[LogConflict]) -> str:
    """A clause that says that there are several histories, which nodes have each of them, and from
    which offset on they differ. conflicts: at least one."""
    found = whole_conflicts(conflicts)
    offset = min(one.offset for one in found)
    sides = [_named(side) for side in sides_of(found)]
    several = "two" if len(sides) == 2 else "several"
    against = " against ".join(sides)
    return f"there are {several} histories, {against}: their logs differ from offset {offset} on"


def mixes_text(conflicts: Iterable[LogConflict]) -> str:
    """Sentences about the logs that are a mix of two histories; "" where there are none."""
    found = [*conflicts]
    mixes = mixes_in(found)
    known = {node for one in mixes for node in one.nodes}
    unknown: dict[tuple[int, int], set[ReplicaKey]] = {}
    for one in found:
        if one.same_from is not None and known.isdisjoint((one.a.node_id, one.b.node_id)):
            unknown.setdefault((one.offset, one.same_from), set()).update((one.a, one.b))
    either = (
        f"The logs of {_named(_nodes(keys))} differ from offset {start} on, and some of them are "
        f"the same again from offset {seam} on: one side of them is a mix of two histories, and "
        "these directories don't show which. Give the directories of all nodes."
        for (start, seam), keys in sorted(unknown.items())
    )
    return " ".join((*(one.text for one in mixes), *either))


def _nodes(keys: Iterable[ReplicaKey]) -> tuple[int, ...]:
    return tuple(sorted({key.node_id for key in keys}))


def _named(nodes: Iterable[int]) -> str:
    return named("node", [*map(str, nodes)])
