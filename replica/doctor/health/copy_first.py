"""Which brokers' log directories have to be copied before their start, because the start discards
records that only they may hold. Every command that says how to start a broker asks this."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
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


def copies_first(cluster: Cluster) -> tuple[CopyFirst, ...]:
    """The brokers that hold replicas and aren't live, if their start discards records; by id."""
    truncated: dict[int, list[str]] = defaultdict(list)
    for key, partition in cluster.partitions.items():
        if partition.leader_recovery_state:
            for broker in set(partition.replicas) - cluster.live_brokers - set(partition.isr):
                truncated[broker].append(cluster.name_of(key))
    return tuple(CopyFirst(one, tuple(sorted(truncated[one]))) for one in sorted(truncated))


def copy_step(copies: Iterable[CopyFirst], brokers: Collection[int] | None = None) -> str:
    """The sentence with which each step begins that starts these brokers; "" if nothing has to be
    copied. brokers: None for all brokers."""
    names = [str(one.broker) for one in copies if brokers is None or one.broker in brokers]
    return f"First copy the log directories of {_brokers(names)}." if names else ""


def what_is_discarded(copies: Collection[CopyFirst]) -> str:
    """A sentence about the records that the start of these brokers discards."""
    one, what = len(copies) == 1, sorted({name for each in copies for name in each.truncated})
    return (
        f"The start of {_brokers([str(each.broker) for each in copies])} discards records that "
        f"only {'it' if one else 'they'} may hold: {'it truncates' if one else 'they truncate'} "
        f"{named('partition', what, limit=_SHOWN)} to the log of a leader that was elected "
        f"uncleanly while {'it was' if one else 'they were'} down."
    )


def _brokers(names: list[str]) -> str:
    return named("broker", names, limit=_SHOWN)
