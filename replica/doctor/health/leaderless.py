"""Finds when partitions had no leader, by undoing the changes from the newest state backwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from replica.doctor.health.cluster import Beginning, Cluster, PartitionKey
from replica.doctor.health.exposure import BROKER, NOW, Failure, Standing
from replica.doctor.health.rewound import RewoundPartitions, VisibleChange
from replica.model.keys import NO_NODE


def leaderless_partitions(cluster: Cluster) -> frozenset[PartitionKey]:
    """The partitions that have no leader."""
    partitions = cluster.partitions.items()
    return frozenset(key for key, partition in partitions if partition.leader == NO_NODE)


def leaderless_in_restart(cluster: Cluster) -> Mapping[int, int]:
    """For each live broker that has lost a log directory: the number of further partitions without
    leader while this broker restarts."""
    lost = {
        broker_id
        for partition in cluster.partitions.values()
        for broker_id in partition.replicas
        if broker_id in cluster.live_brokers
        and cluster.offline_directory(partition, broker_id) is not None
    }
    if not lost:
        return {}
    standing = Standing.of(cluster, with_pairs=False)

    def without_leader(failure: Failure) -> int:
        exposure = standing.exposure(failure)
        return 0 if exposure is None else exposure.harm.leaderless

    now = without_leader(NOW)
    return {one: without_leader(Failure(BROKER, (str(one),))) - now for one in sorted(lost)}


def leaderless_since(
    keys: frozenset[PartitionKey], steps: Iterable[VisibleChange]
) -> Mapping[PartitionKey, Beginning]:
    """The change with which each of the partitions lost its leader, or was created without a
    leader.

    steps: the changes, newest first. They are read only until all answers are known. A partition
        that had no leader before the oldest change is left out.
    """
    found: dict[PartitionKey, Beginning] = {}
    for step in steps:
        if len(found) == len(keys):
            break
        for table, key, before in step.before:
            if table != "partitions" or key not in keys or key in found:
                continue
            if before is None or before.leader != NO_NODE:
                found[key] = Beginning(step.offset, step.at)
    return found


BEFORE = Beginning(-1, None)
"""Stands for a change before the oldest one that is known."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A time during which at least one partition was out. Outages says what "out" means: without a
    leader, or refusing writes."""

    began: Beginning
    """The change with which the outage began; BEFORE if it began before the oldest known change."""
    ended: Beginning | None
    """The change with which the outage ended; None if partitions are out in the newest state."""
    most: int
    """The largest number of partitions that were out at one time."""
    of: int
    """The number of all partitions at the time when `most` were out."""
    most_at: int | None
    """The time at which `most` partitions were out, in ms since 1970 (UTC): the first one if there
    are several; None if it is unknown."""
    at_first: int
    """The number of partitions that were out when the outage began: after all changes that have the
    same time as `began`."""
    still: int
    """The number of partitions that are out in the newest state; 0 if the outage has ended."""
    first: frozenset[PartitionKey] = field(default=frozenset(), compare=False)
    """The partitions that at_first counts."""
    lasting: frozenset[PartitionKey] = field(default=frozenset(), compare=False)
    """The partitions that `still` counts."""


class Outages(NamedTuple):
    """The outages of partitions, the oldest first."""

    without_leader: Sequence[Outage] = ()
    """The times during which partitions had no leader."""
    refusing: Sequence[Outage] = ()
    """The times during which partitions had a leader, and refused writes with acks=all."""


def outages_of(then: RewoundPartitions, steps: Iterable[VisibleChange]) -> Outages:
    """All outages that these steps show. then: the partitions of the newest state. steps: the
    changes, newest first."""
    without_leader = _Backwards(then, then.has_no_leader)
    refusing = _Backwards(then, then.refuses_writes)
    for step in steps:
        changed = then.take_back(step)
        without_leader.take_back(step, changed)
        refusing.take_back(step, changed)
    return Outages(without_leader.found(), refusing.found())


class _Backwards:
    """Finds outages of one kind. is_out: whether a partition is out at the moment of `then`."""

    def __init__(self, then: RewoundPartitions, is_out: Callable[[PartitionKey], bool]) -> None:
        self._then, self._is_out = then, is_out
        self._out = {key for key in then.partitions if is_out(key)}
        self._number, self._still = len(then.partitions), len(self._out)
        self._at: int | None = None
        self._after, self._lasting = self._still, frozenset(self._out)
        self._touched: dict[PartitionKey, bool] = {}
        """For each partition that changed at the time `_at`: whether it was out after all changes
        of that time."""
        self._found: list[Outage] = []
        self._ended: Beginning | None = None
        self._most = self._of = 0
        self._most_at: int | None = None

    def take_back(self, step: VisibleChange, changed: Collection[PartitionKey]) -> None:
        """Take the next older change, which `then` has already undone. changed: the partitions that
        may be out before this change and not after it, or after it and not before it."""
        had_any = bool(self._out)
        here = Beginning(step.offset, step.at)
        if step.at is None or step.at != self._at:
            self._at, self._after = step.at, len(self._out)
            self._touched.clear()
        if len(self._out) >= self._most:
            self._most, self._of, self._most_at = len(self._out), self._number, step.at
        self._judge(changed)
        if self._out and not had_any:
            self._ended, self._most, self._still = here, 0, 0
            self._after, self._lasting = len(self._out), frozenset()
            self._touched.clear()
        if had_any and not self._out:
            first = frozenset(key for key, was_out in self._touched.items() if was_out)
            self._found.append(self._outage(here, self._after, first))

    def found(self) -> tuple[Outage, ...]:
        """The outages, the oldest first."""
        if not self._out:
            return tuple(reversed(self._found))
        if len(self._out) > self._most:
            self._most, self._of, self._most_at = len(self._out), self._number, None
        lasted_already = self._outage(BEFORE, len(self._out), frozenset(self._out))
        return (lasted_already, *reversed(self._found))

    def _outage(self, began: Beginning, at_first: int, first: frozenset[PartitionKey]) -> Outage:
        about = self._most, self._of, self._most_at, at_first, self._still, first, self._lasting
        return Outage(began, self._ended, *about)

    def _judge(self, changed: Collection[PartitionKey]) -> None:
        self._number = len(self._then.partitions)
        for key in changed:
            self._touched.setdefault(key, key in self._out)
            if key in self._then.partitions and self._is_out(key):
                self._out.add(key)
            else:
                self._out.discard(key)
