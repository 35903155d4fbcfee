"""Which brokers were missing while partitions refused writes, and whether these brokers were fenced
then."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from replica.doctor.health.cluster import Beginning, Cluster, PartitionKey
from replica.doctor.health.leaderless import Outage, Outages
from replica.doctor.health.min_isrs import MIN_ISR
from replica.doctor.health.rewound import RewoundPartitions, VisibleChange, put_all
from replica.metadata.changes.brokers_seen import is_fencing, is_new_process

_MOMENT_MS = 1000


class Fencing(NamedTuple):
    """A time during which a broker was fenced."""

    fenced: Beginning
    is_asked: bool
    """Whether the broker had asked for its shutdown before it was fenced."""
    back: Beginning | None = None
    """The change that unfenced the broker; None if it is fenced in the newest state."""
    is_restarted: bool = False
    """Whether the broker was restarted while it was fenced: its incarnation id is a new one."""


class Missing(NamedTuple):
    """A broker whose replicas were not in sync when a refusal began. fencing: a time during which
    the broker was fenced and that overlaps the refusal; None if there is none."""

    broker: int
    fencing: Fencing | None


class Refusal(NamedTuple):
    """A time during which partitions refused writes with acks=all."""

    outage: Outage
    names: tuple[str, ...] = ()
    """The names of the partitions that `outage.first` has, sorted; empty if one is unknown."""
    missing: tuple[Missing, ...] = ()
    """The brokers whose replicas were missing when the refusal began, by id."""
    was_lowered: bool = False
    """Whether the refusal ended because min.insync.replicas was changed, and not because replicas
    came back."""


def refusals(
    cluster: Cluster, found: Outages, steps: Iterable[VisibleChange]
) -> tuple[Refusal, ...]:
    """A Refusal for each time of refused writes whose first change is known, the oldest first. A
    moment that began an outage of today is left out: see _is_moment. steps: the changes, newest
    first."""
    out_now = frozenset[PartitionKey]().union(*(one.lasting for each in found for one in each))
    outages = [one for one in found.refusing if not _is_moment(one, out_now)]
    waiting = [one for one in outages if one.began.offset >= 0]
    if not waiting:
        return ()
    then, fencings = RewoundPartitions.of(cluster), _Fencings(cluster.values("brokers"))
    told: dict[Beginning, tuple[tuple[str, ...], list[int]]] = {}
    lowered: set[Beginning] = set()
    for step in steps:
        if any(table == "configs" and key[2] == MIN_ISR for table, key, _ in step.before):
            lowered |= {one.began for one in waiting if one.ended and _is_at(one.ended, step)}
        for one in [one for one in waiting if _is_at(one.began, step)]:
            told[one.began] = _seen(then, one)
            waiting.remove(one)
        then.take_back(step)
        fencings.take_back(step)
    return tuple(
        Refusal(
            one,
            told[one.began][0],
            tuple(Missing(broker, fencings.at(broker, one)) for broker in told[one.began][1]),
            one.began in lowered,
        )
        for one in outages
        if one.began in told
    )


def _is_moment(one: Outage, out_now: frozenset[PartitionKey]) -> bool:
    """Whether partitions refused writes for less than a second, and are out in the newest state:
    the outage went on, because they lost their leader or refuse writes again. out_now: the
    partitions without leader, and those that refuse writes."""
    began, ended = one.began.at, None if one.ended is None else one.ended.at
    is_short = began is not None and ended is not None and 0 <= ended - began < _MOMENT_MS
    return is_short and not out_now.isdisjoint(one.first)


def _is_at(began: Beginning, step: VisibleChange) -> bool:
    """Whether a step is the change `began`, or has the same time as this change."""
    return step.offset == began.offset or (began.at is not None and step.at == began.at)


def _seen(then: RewoundPartitions, outage: Outage) -> tuple[tuple[str, ...], list[int]]:
    """(names, brokers): the names of the partitions of `outage.first`, empty if one is unknown, and
    the brokers whose replicas of these partitions aren't in sync; both sorted. then: the state
    after the outage began."""
    keys = [key for key in outage.first if key in then.partitions]
    held = [then.partitions[key] for key in keys]
    missing = {broker for one in held for broker in one.replicas if broker not in one.isr}
    names = [then.name_of(key) for key in sorted(keys)]
    return tuple(sorted(filter(None, names))) if all(names) else (), sorted(missing)


class _Fencings:
    """Finds the fencings of brokers by undoing changes. brokers: the registrations of the newest
    state."""

    def __init__(self, brokers: Mapping[int, Mapping[str, Any]]) -> None:
        self._brokers = dict(brokers)
        self._back: dict[int, tuple[Beginning, Mapping[str, Any]]] = {}
        self._found: defaultdict[int, list[Fencing]] = defaultdict(list)

    def take_back(self, step: VisibleChange) -> None:
        here = Beginning(step.offset, step.at)
        earlier = {key: before for table, key, before in step.before if table == "brokers"}
        for broker, before in earlier.items():
            after = self._brokers.get(broker)
            if before is None or after is None:
                continue
            if is_fencing(after, before):
                self._back[broker] = here, after
            if is_fencing(before, after):
                back, came = self._back.pop(broker, (None, before))
                is_asked = bool(before["inControlledShutdown"] or after["inControlledShutdown"])
                is_new = is_new_process(before, came)
                self._found[broker].append(Fencing(here, is_asked, back, is_new))
        put_all(self._brokers, earlier)

    def at(self, broker: int, outage: Outage) -> Fencing | None:
        """The fencing of a broker that overlaps an outage, the oldest of several; None without one.
        A controlled shutdown takes replicas out of sync before the broker is fenced."""
        found = (
            one
            for one in reversed(self._found[broker])
            if (one.back is None or _is_before(outage.began, one.back))
            and (outage.ended is None or _is_before(one.fenced, outage.ended))
        )
        return next(found, None)


def _is_before(one: Beginning, other: Beginning) -> bool:
    """Whether one change is before the other, or has the same time."""
    return one.offset < other.offset or (one.at is not None and one.at == other.at)
