"""Finds when partitions had no leader, by undoing the changes from the newest state backwards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from replica.doctor.health.cluster import Beginning, Cluster, PartitionKey
from replica.doctor.health.exposure import BROKER, NOW, Failure, Standing
from replica.doctor.health.past import VisibleChange
from replica.metadata.image.partition import Partition
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
    """A time during which partitions had no leader."""

    began: Beginning
    """The change with which it began; BEFORE where it lasted already."""
    ended: Beginning | None
    """The change with which it ended; None if some partitions have no leader in the newest
    state."""
    most: int
    """The largest number of partitions without leader at one time."""
    of: int
    """The number of all partitions at that time."""
    most_at: int | None
    """That time, in ms since 1970; the first one of several; None where it is unknown."""
    at_first: int
    """The number of partitions without leader after all changes of the time at which it began."""
    still: int
    """The number of partitions without leader in the newest state; 0 where it has ended."""
    first: frozenset[PartitionKey] = field(default=frozenset(), compare=False)
    """The partitions that at_first counts."""
    lasting: frozenset[PartitionKey] = field(default=frozenset(), compare=False)
    """The partitions that `still` counts."""


def outages(
    partitions: Mapping[PartitionKey, Partition], steps: Iterable[VisibleChange]
) -> tuple[Outage, ...]:
    """All outages that the steps show, the oldest first.

    partitions: those of the newest state. steps: as for leaderless_since.
    """
    without = {key for key, one in partitions.items() if one.leader == NO_NODE}
    number, still = len(partitions), len(without)
    at: int | None = None
    after, lasting = still, frozenset(without)
    touched: dict[PartitionKey, bool] = {}
    earlier: dict[PartitionKey, bool] = {}
    found: list[Outage] = []
    ended: Beginning | None = None
    most = of = 0
    most_at: int | None = None
    for step in steps:
        had_any = bool(without)
        here = Beginning(step.offset, step.at)
        if step.at is None or step.at != at:
            at, after = step.at, len(without)
            touched.clear()
        if len(without) >= most:
            most, of, most_at = len(without), number, step.at
        number -= _take_back(step, without, partitions, earlier, touched)
        if without and not had_any:
            ended, most, still, after, lasting = here, 0, 0, len(without), frozenset()
            touched.clear()
        if had_any and not without:
            first = frozenset(key for key, had_none in touched.items() if had_none)
            found.append(Outage(here, ended, most, of, most_at, after, still, first, lasting))
    if without:
        if len(without) > most:
            most, of, most_at = len(without), number, None
        first = frozenset(without)
        about = most, of, most_at, len(without), still, first, lasting
        found.append(Outage(BEFORE, ended, *about))
    return tuple(reversed(found))


def _take_back(
    step: VisibleChange,
    without: set[PartitionKey],
    partitions: Mapping[PartitionKey, Partition],
    earlier: dict[PartitionKey, bool],
    touched: dict[PartitionKey, bool],
) -> int:
    """Undoes a step in the set of partitions without leader. Returns how many more partitions there
    are with the step than before it. earlier: for each partition that a later step changed, whether
    it existed before that step. touched: for each partition that a step of this time changed,
    whether it had no leader after all steps of this time."""
    created = 0
    for table, key, before in step.before:
        if table == "partitions":
            existed = earlier.get(key, key in partitions)
            created += existed - (before is not None)
            earlier[key] = before is not None
            touched.setdefault(key, key in without)
            if before is not None and before.leader == NO_NODE:
                without.add(key)
            else:
                without.discard(key)
    return created
