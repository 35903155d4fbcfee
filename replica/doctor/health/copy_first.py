"""Finds the brokers whose log directories have to be copied before the brokers start: the start
discards records that no other broker may hold. Every command that says how to start a broker asks
this module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from replica.doctor.health.cluster import Cluster
from replica.words import named

_SHOWN = 5


class CopyFirst(NamedTuple):
    """A broker that doesn't run, and what its start discards."""

    broker: int
    truncated: tuple[str, ...]
    """The partitions that were elected uncleanly without this broker, which truncates its replica
    to the log of the new leader."""
    shortened: tuple[str, ...] = ()
    """The topics whose retention was shortened while it was down."""


def copies_first(cluster: Cluster) -> tuple[CopyFirst, ...]:
    """The brokers that hold replicas and aren't live, if their start discards records; by id."""
    truncated: dict[int, list[str]] = defaultdict(list)
    shortened: dict[int, set[str]] = defaultdict(set)
    for each in cluster.shortened:
        shortened[each.broker].add(each.topic)
    for key, partition in cluster.partitions.items():
        if partition.leader_recovery_state:
            for broker in set(partition.replicas) - cluster.live_brokers - set(partition.isr):
                truncated[broker].append(cluster.name_of(key))
    return tuple(
        CopyFirst(one, tuple(sorted(truncated[one])), tuple(sorted(shortened[one])))
        for one in sorted(truncated.keys() | shortened.keys())
    )


def copy_step(copies: Iterable[CopyFirst], brokers: Collection[int] | None = None) -> str:
    """The sentence that begins each step in which these brokers are started; "" if nothing has to
    be copied. brokers: None for all brokers."""
    what = what_to_copy(copies, brokers)
    return f"First {what}" if what else ""


def what_to_copy(copies: Iterable[CopyFirst], brokers: Collection[int] | None = None) -> str:
    """The sentence of copy_step without the word First; "" if nothing has to be copied."""
    chosen = [one for one in copies if brokers is None or one.broker in brokers]
    if not chosen:
        return ""
    step = f"copy the log directories of {_brokers([str(one.broker) for one in chosen])}"
    if any(one.truncated for one in chosen):
        return f"{step}."
    topics = named(
        "topic", sorted({name for one in chosen for name in one.shortened}), limit=_SHOWN
    )
    return f"{step}, if you need the records of {topics} that the start deletes."


def what_is_discarded(copies: Collection[CopyFirst]) -> str:
    """Sentences about the records that the start of these brokers discards."""
    return " ".join(
        f"The start of {_brokers(brokers)} {told}" for brokers, told in _discarding(copies)
    )


def _discarding(copies: Collection[CopyFirst]) -> Iterator[tuple[list[str], str]]:
    """(brokers, what follows their names) for each way of discarding records."""
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
