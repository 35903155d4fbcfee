"""Finds the brokers whose log directories have to be copied before the brokers start: the start
discards records that no other broker may hold. Every command that says how to start a broker asks
this module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from replica.doctor.health.absent_directories import (
    AbsentDirectories,
    absent_directories,
    if_lost,
    not_before,
    with_all,
)
from replica.doctor.health.cluster import Cluster
from replica.doctor.health.emptied import emptied_brokers, to_stop
from replica.doctor.health.live_replicas import that_truncate
from replica.words import named

_SHOWN = 5


class CopyFirst(NamedTuple):
    """A broker that doesn't run, and what its start discards."""

    broker: int
    truncated: tuple[str, ...]
    """The partitions whose leader was elected uncleanly without this broker, which truncates its
    replica to the log of the new leader."""
    shortened: tuple[str, ...] = ()
    """The topics whose retention was shortened while this broker was down."""
    begun_again: tuple[str, ...] = ()
    """The partitions of Cluster.led_from_new_directories, of which this broker has a replica. The
    broker truncates its replica once it follows the leader."""
    absent: AbsentDirectories | None = None
    """Facts about this broker's log directories, if the broker would be elected without records
    after a start with an empty log directory; None if it would not."""
    stop: str = ""
    """The brokers that have to stop before this broker starts, such as `broker 13` (see to_stop);
    "" if none has to."""

    @property
    def only_copies(self) -> tuple[str, ...]:
        """The partitions of which this broker may hold the only copy of records."""
        return tuple(sorted({*self.truncated, *self.begun_again}))

    @property
    def others_up(self) -> tuple[int, ...]:
        """The live brokers whose log directories are copied, too: they truncate their replicas if
        this broker leads without records."""
        return () if self.absent is None else self.absent.others_up

    @property
    def is_copied(self) -> bool:
        """Whether log directories have to be copied before this broker starts."""
        return bool(self.only_copies or self.shortened or self.others_up)


def copies_first(cluster: Cluster) -> tuple[CopyFirst, ...]:
    """The brokers that hold replicas and aren't live, by id, if their start discards records, needs
    all their log directories, or comes after the stop of another broker."""
    truncated: dict[int, list[str]] = defaultdict(list)
    shortened: dict[int, set[str]] = defaultdict(set)
    for each in cluster.shortened:
        shortened[each.broker].add(each.topic)
    for key, partition in cluster.partitions.items():
        if partition.leader_recovery_state:
            # the new leader is among the eligible replicas once it has stopped too
            for broker in that_truncate(partition) - cluster.live_brokers:
                truncated[broker].append(cluster.name_of(key))
    begun_again, absent = _of_begun_again(cluster), absent_directories(cluster)
    emptied = emptied_brokers(cluster)
    stop, found = to_stop(emptied), {*truncated, *shortened, *begun_again, *absent}
    if stop:
        found |= cluster.replicas_by_broker.keys() - cluster.live_brokers
        found -= {one.broker for one in emptied}
    return tuple(
        CopyFirst(
            one,
            tuple(sorted(truncated.get(one, ()))),
            tuple(sorted(shortened.get(one, ()))),
            tuple(sorted(begun_again.get(one, ()))),
            absent.get(one),
            stop,
        )
        for one in sorted(found)
    )


def _of_begun_again(cluster: Cluster) -> Mapping[int, Collection[str]]:
    """For each broker that isn't live: the partitions of CopyFirst.begun_again."""
    found: dict[int, list[str]] = defaultdict(list)
    for key in cluster.led_from_new_directories:
        partition = cluster.partitions[key]
        if not partition.leader_recovery_state:  # see CopyFirst.truncated
            for broker in that_truncate(partition) - cluster.live_brokers:
                found[broker].append(cluster.name_of(key))
    return found


def copy_step(copies: Iterable[CopyFirst], brokers: Collection[int] | None = None) -> str:
    """The sentences that begin each step in which these brokers are started: what to copy first,
    and start_conditions; "" if there are none. brokers: None for all brokers of `copies`."""
    chosen = [one for one in copies if brokers is None or one.broker in brokers]
    what = what_to_copy(chosen)
    copy = f"First {what}" if what else ""
    return " ".join(filter(None, (copy, start_conditions(chosen))))


def start_conditions(copies: Iterable[CopyFirst]) -> str:
    """Sentences about the log directories that have to be there when these brokers start."""
    told = ((not_before(one.absent), with_all(one.absent)) for one in copies if one.absent)
    return " ".join(text for texts in told for text in texts if text)


def what_to_copy(copies: Iterable[CopyFirst]) -> str:
    """A sentence without its first word `First`: which brokers to stop, and of which to copy the
    log directories; "" if neither has to be done."""
    started = [*copies]
    stop = next((one.stop for one in started if one.stop), "")
    chosen = [one for one in started if one.is_copied]
    if not chosen:
        return f"stop {stop}." if stop else ""
    brokers = [str(one) for one in to_copy(chosen)]
    step = f"copy the log directories of {_brokers(brokers)}"
    if stop:
        step = f"stop {stop} and {step}"
    if any(one.only_copies or one.others_up for one in chosen):
        return f"{step}."
    topics = named(
        "topic", sorted({name for one in chosen for name in one.shortened}), limit=_SHOWN
    )
    return f"{step}, if you need the records of {topics} that the start deletes."


def after_copy(copies: Sequence[CopyFirst], step: str, *, is_said: bool) -> str:
    """A step that brings brokers back. Where log directories have to be copied before it, the step
    begins with the instruction to copy them, or only names their brokers if another step has the
    instruction. is_said: whether a step about an outage has the instruction."""
    if not copies or not (is_said or any(one.only_copies for one in copies)):
        return " ".join(filter(None, (copy_step(copies), step)))
    copied = to_copy(copies)
    if not copied:
        return step
    stop = f"the stop of {copies[0].stop} and " if copies[0].stop else ""
    return (
        f"After {stop}the copy of the log directories of {_brokers([*map(str, copied)])}: "
        f"{step[0].lower()}{step[1:]}"
    )


def to_copy(copies: Iterable[CopyFirst]) -> Sequence[int]:
    """The brokers whose log directories are copied before these brokers start: these brokers, and
    those that run and truncate their replicas to the log of a leader without records."""
    chosen = [one for one in copies if one.is_copied]
    return sorted({one.broker for one in chosen}.union(*(one.others_up for one in chosen)))


def steps_if_lost(copies: Iterable[CopyFirst]) -> str:
    """Sentences that say how partitions get a leader from another broker if log directories that
    were not given are lost; "" without such directories. This has to be done before the brokers
    are started."""
    return " ".join(if_lost(one.absent) for one in copies if one.absent and one.absent.absent)


def what_is_discarded(copies: Collection[CopyFirst]) -> str:
    """Sentences about the records that the start of these brokers discards."""
    return " ".join(
        f"The start of {_brokers(brokers)} {told}" for brokers, told in _discarding(copies)
    )


def _discarding(copies: Collection[CopyFirst]) -> Iterator[tuple[list[str], str]]:
    """For each way in which records are discarded: (the brokers, the rest of the sentence after
    their names)."""
    brokers, names = _with([(one.broker, one.truncated) for one in copies])
    if names:
        one = len(brokers) == 1
        yield (
            brokers,
            f"discards records that only {'it' if one else 'they'} may hold: "
            f"{'it truncates' if one else 'they truncate'} "
            f"{named('partition', names, limit=_SHOWN)} to the log of a leader that was elected "
            f"uncleanly while {'it was' if one else 'they were'} down.",
        )
    brokers, names = _with([(one.broker, one.begun_again) for one in copies])
    if names:
        they = "it truncates" if len(brokers) == 1 else "they truncate"
        yield (
            brokers,
            f"discards records that only {'it' if len(brokers) == 1 else 'they'} may hold: {they} "
            f"{named('partition', names, limit=_SHOWN)} to the log of a replica that began again "
            f"on a new disk{', while that runs' if any(one.stop for one in copies) else ''}.",
        )
    brokers, names = _with([(one.broker, one.shortened) for one in copies])
    if names:
        was = "it was" if len(brokers) == 1 else "they were"
        yield (
            brokers,
            f"deletes records of {named('topic', names, limit=_SHOWN)}, whose retention was "
            f"shortened while {was} down.",
        )


def _with(found: Iterable[tuple[int, tuple[str, ...]]]) -> tuple[list[str], list[str]]:
    """(the brokers that have at least one name, their names without repetition). found: each broker
    with the names of its partitions or topics."""
    having = [(broker, names) for broker, names in found if names]
    return [str(one) for one, _ in having], sorted({name for _, names in having for name in names})


def _brokers(names: list[str]) -> str:
    return named("broker", names, limit=_SHOWN)
