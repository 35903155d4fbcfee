"""Finds how long each exposure or reassignment has lasted, by undoing the changes from the newest
state backwards.

The steps come newest first, and are read only until all questions are answered: usually back to the
last restart of a broker. A long history can be read in ranges of offsets, in parallel.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from replica.doctor.health.cluster import Beginning, Cluster, PartitionKey, is_live
from replica.doctor.health.emptied import emptied_partitions
from replica.doctor.health.exposure import (
    BROKER,
    PAIR,
    VOTER,
    Exposure,
    Failure,
    Harm,
    HarmTally,
    Standing,
)
from replica.doctor.health.live_replicas import Alike
from replica.doctor.health.reassignments import reassigned
from replica.doctor.health.rewound import RewoundPartitions, VisibleChange, put_all
from replica.model.keys import NO_NODE


@dataclass(frozen=True, slots=True)
class Past:
    """The result of past_of. `exposed` and `starts` lack everything that began before the oldest
    step."""

    exposed: Mapping[Failure, Beginning]
    """For each harmful failure: the beginning of the time with the same harm as now."""
    starts: Mapping[PartitionKey, Beginning]
    """The beginnings of running reassignments."""
    unknown: int
    """The number of harmful failures that `exposed` lacks."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The questions that the older part of a log still has to answer, when the log is read
    backwards: since when these failures do the same harm, and when the reassignments of these
    partitions began."""

    failures: frozenset[Failure]
    partitions: frozenset[PartitionKey]

    def __and__(self, other: Waiting) -> Waiting:
        return Waiting(self.failures & other.failures, self.partitions & other.partitions)

    def __bool__(self) -> bool:
        return bool(self.failures or self.partitions)


@dataclass(frozen=True, slots=True)
class PastRange:
    """The answers that the steps of a range of offsets give to the questions of `Waiting`."""

    exposed: Mapping[Failure, Beginning]
    starts: Mapping[PartitionKey, Beginning | None]
    """The beginnings of running reassignments; None if the step at which one began has no time."""
    waiting: Waiting
    """The questions that were open at the range's end and stay open."""

    def before(self, newer: PastRange) -> PastRange:
        """This range together with the newer range that follows it."""
        failures, partitions = newer.waiting.failures, newer.waiting.partitions
        exposed = {one: at for one, at in self.exposed.items() if one in failures}
        starts = {one: at for one, at in self.starts.items() if one in partitions}
        waiting = newer.waiting & self.waiting
        return PastRange({**newer.exposed, **exposed}, {**newer.starts, **starts}, waiting)

    @property
    def past(self) -> Past:
        """The answers, if there is no older range."""
        starts = {one: at for one, at in self.starts.items() if at is not None}
        return Past(self.exposed, starts, len(self.waiting.failures))


def past_of(cluster: Cluster, steps: Iterable[VisibleChange]) -> Past:
    """Find the beginnings of the cluster's current exposures and reassignments. steps: the changes
    below the cluster's end, the newest first, one step for each offset that has changes. They are
    read only until all beginnings are found."""
    return past_in_range(cluster, cluster, steps).past


def past_in_range(
    now: Cluster, at_end: Cluster, steps: Iterable[VisibleChange], asked: Waiting | None = None
) -> PastRange:
    """Find, in one range of offsets, the beginnings of the exposures and reassignments in `now`.

    at_end: the state before the range's end (exclusive).
    steps: the steps of the range, newest first.
    asked: the questions that newer ranges have left open; None for all questions.

    Ranges can be read independently: `PastRange.before` joins them.
    """
    exposed, starts = _Exposed(now, at_end, asked), _Starts(now, asked)
    remaining = iter(steps)
    while exposed.waiting or starts.waiting:
        step = next(remaining, None)
        if step is None:
            break
        exposed.take_back(step)
        starts.take_back(step)
    waiting = Waiting(frozenset(exposed.waiting), frozenset(starts.waiting))
    return PastRange(exposed.since, starts.found, waiting)


def does_harm(exposure: Exposure) -> bool:
    """Whether the failure would harm a partition or the quorum's majority."""
    return exposure.harm != Harm() or exposure.has_majority is False


class _Starts:
    """The running reassignments, until the beginning of each is found."""

    def __init__(self, now: Cluster, asked: Waiting | None) -> None:
        self.waiting = set(reassigned(now.image))
        if asked is not None:
            self.waiting &= asked.partitions
        self.found: dict[PartitionKey, Beginning | None] = {}

    def take_back(self, step: VisibleChange) -> None:
        for table, key, value in step.before:
            if table != "partitions" or key not in self.waiting:
                continue
            if value is None or not (value.adding_replicas or value.removing_replicas):
                self.waiting.remove(key)
                began = None if step.at is None else Beginning(step.offset, step.at)
                self.found[key] = began


class _Exposed:
    """The failures that are harmful now. Changes are undone until the harm of each is different.

    waiting: the failures whose harm was the same so far. A failure whose harm is different at the
        end of a range isn't waiting, because a newer range has its answer.
    """

    def __init__(self, now: Cluster, at_end: Cluster, asked: Waiting | None) -> None:
        self.since: dict[Failure, Beginning] = {}
        standing = Standing.of(now)
        self._figures = {
            failure: exposure
            for failure in standing.failures()
            if (exposure := _known(standing, failure)) is not None
            and does_harm(exposure)
            and (asked is None or failure in asked.failures)
        }
        if at_end is not now:
            standing = Standing.of(at_end, with_pairs=standing.tally.with_pairs)
        self._standing = standing
        self.waiting = {
            failure
            for failure, exposure in self._figures.items()
            if _known(standing, failure) == exposure
        }
        self._pairs: defaultdict[str, set[Failure]] = defaultdict(set)
        for failure in self.waiting:
            if failure.kind == PAIR:
                for one in failure.gone:
                    self._pairs[one].add(failure)
        self._past = _State(at_end, standing)

    def take_back(self, step: VisibleChange) -> None:
        tally = self._standing.tally
        tally.touched.clear()
        now, had = _totals(tally), (self._standing.live, self._standing.voters_up)
        self._past.take_back(step)
        has = self._standing.live, self._standing.voters_up
        if _totals(tally) != now or had != has or self._past.racks_changed:
            suspects = self.waiting.copy()
        else:
            suspects = self._suspects(tally.touched)
        for failure in suspects:
            if _known(self._standing, failure) != self._figures[failure]:
                self.waiting.remove(failure)
                self.since[failure] = Beginning(step.offset, step.at)

    def _suspects(self, touched: Collection[Failure]) -> set[Failure]:
        """The waiting failures whose harm depends on the totals of the failures `touched`."""
        found: set[Failure] = set()
        for failure in touched:
            found.add(failure)
            if failure.kind == BROKER:
                found.add(Failure(VOTER, failure.gone))
                found |= self._pairs[failure.gone[0]]
        return found & self.waiting


def _totals(tally: HarmTally) -> tuple[int, int]:
    return tally.total(), tally.total(is_unled=True)


def _known(standing: Standing, failure: Failure) -> Exposure | None:
    """The exposure with may_be_below = 0; None if the failure can't happen. The moment since which
    a failure does harm doesn't depend on partitions of which it is unknown whether they are
    harmed."""
    exposure = standing.exposure(failure)
    return None if exposure is None else exposure._replace(may_be_below=0)


class _State:
    """The state on which exposures depend. Changes are undone in place, together with the
    Standing."""

    def __init__(self, cluster: Cluster, standing: Standing) -> None:
        self.racks_changed = False
        self._standing = standing
        self._is_led, self._is_combined = cluster.is_led, cluster.is_combined
        self._emptied = emptied_partitions(cluster)
        self._then = RewoundPartitions.of(cluster)
        self._brokers = dict(cluster.values("brokers"))
        self._online = dict(cluster.online_directories)
        self._alike = {key: self._alike_of(key) for key in self._then.partitions}
        self._counts = Counter(self._alike.values())

    def take_back(self, step: VisibleChange) -> None:
        self.racks_changed = False
        changed = self._then.take_back(step)
        brokers = {key: value for table, key, value in step.before if table == "brokers"}
        if brokers:
            self._take_back_brokers(brokers)
            changed |= self._take_back_directories(brokers)
        for key in changed:
            self._recount(key)
        for voters in (value or () for table, _, value in step.before if table == "voters"):
            self._standing.voters = frozenset(one.key.node_id for one in voters)

    def _take_back_brokers(self, before: Mapping[int, Any]) -> None:
        standing = self._standing
        put_all(self._brokers, before)
        live, rack_of, fenced = set(standing.live), dict(standing.rack_of), set(standing.fenced)
        for one in before:
            fields = self._brokers.get(one)
            live.discard(one)
            fenced.discard(one)
            rack_of.pop(one, None)
            if fields and not is_live(fields):
                fenced.add(one)
            if fields and is_live(fields):
                live.add(one)
                if fields["rack"]:
                    rack_of[one] = fields["rack"]
        standing.fenced = frozenset(fenced)
        self.racks_changed = rack_of != standing.rack_of
        if live == standing.live and not self.racks_changed:
            return
        affected = [alike for alike in self._counts if not before.keys().isdisjoint(alike.replicas)]
        for alike in affected:
            self._add(alike, -self._counts[alike])
        standing.live, standing.rack_of = frozenset(live), rack_of
        for alike in affected:
            self._add(alike, self._counts[alike])

    def _take_back_directories(self, before: Mapping[int, Any]) -> set[PartitionKey]:
        """Undo changes of brokers' log directories. Returns the partitions with a replica on a
        broker that had other directories online."""
        other: set[int] = set()
        for one, fields in before.items():
            online = frozenset(fields["logDirs"]) if fields else frozenset[str]()
            if online == self._online.get(one, frozenset()):
                continue
            other.add(one)
            self._online[one] = online
            if not online:  # this broker names no directories
                del self._online[one]
        if not other:
            return set()
        return {
            key for key, one in self._then.partitions.items() if not other.isdisjoint(one.replicas)
        }

    def _recount(self, key: PartitionKey) -> None:
        old, new = self._alike.pop(key, None), None
        if key in self._then.partitions:
            new = self._alike[key] = self._alike_of(key)
        if old == new:
            return
        if old is not None:
            self._count(old, -1)
        if new is not None:
            self._count(new, 1)

    def _alike_of(self, key: PartitionKey) -> Alike:
        partition, min_isr = self._then.partitions[key], self._then.min_isr(key)
        is_led, is_combined = self._is_led, self._is_combined
        return Alike.of(
            partition,
            min_isr,
            self._online,
            is_led=is_led,
            is_combined=is_combined,
            emptied=self._emptied.get(key, NO_NODE),
        )

    def _count(self, alike: Alike, count: int) -> None:
        self._add(alike, count)
        self._counts[alike] += count
        if not self._counts[alike]:
            del self._counts[alike]

    def _add(self, alike: Alike, count: int) -> None:
        standing = self._standing
        standing.tally.add(alike.kind(standing.live), count, standing.rack_of)
