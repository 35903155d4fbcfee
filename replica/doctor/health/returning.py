"""In which order brokers that are down bring partitions without leader back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple, TypeVar

from replica.doctor.health.cluster import Cluster
from replica.doctor.health.emptied import emptied_partitions
from replica.doctor.health.live_replicas import eligible_to_lead
from replica.metadata.image.snapshot import ELR_VERSION
from replica.model.keys import NO_NODE

_Id = TypeVar("_Id", int, str)


class Returning(NamedTuple):
    """A broker that holds replicas and isn't live."""

    broker: int
    partitions: int
    """The number of partitions to which the broker's start gives a leader. Partitions that already
    get one from a broker earlier in the order are not counted."""
    is_sure: bool = True
    """False for a broker that crashed in a cluster with eligible leader replicas (KIP-966): once
    the broker registers, it may no longer be eligible."""


def returning(cluster: Cluster) -> tuple[Returning, ...]:
    """The brokers that hold replicas and aren't live, in the order in which their starts bring most
    partitions back, without an unclean election. Brokers for which this is sure (is_sure) come
    first. A partition of emptied_partitions counts for none: no start should give it a leader."""
    absent = sorted(set(cluster.replicas_by_broker) - cluster.live_brokers)
    kept = emptied_partitions(cluster)
    waiting = [
        frozenset(
            one
            for one in eligible_to_lead(partition)
            if one in absent and cluster.offline_directory(partition, one) is None
        )
        for key, partition in cluster.partitions.items()
        if partition.leader == NO_NODE and key not in kept
    ]
    doubtful = cluster.vanished if cluster.level(ELR_VERSION) else frozenset[int]()
    found = []
    while absent:
        counts = Counter(one for brokers in waiting for one in brokers)
        first = max(
            absent,
            key=lambda one: (counts[one] > 0 and one not in doubtful, counts[one], -one),
        )
        found.append(Returning(first, counts[first], first not in doubtful))
        absent.remove(first)
        waiting = [brokers for brokers in waiting if first not in brokers]
    return tuple(found)


def run_on(lost: Collection[_Id], down: Collection[_Id]) -> bool:
    """Whether the brokers `lost`, which run without one of their log directories, should run on
    until the brokers `down` have started: a restart may make such a broker a leader without
    records, and the other replicas then delete theirs. False if one of the brokers `lost` is down
    itself."""
    return set(lost).isdisjoint(down)
