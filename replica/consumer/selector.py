"""Selectors choose the replica that a reader reads from, as in KIP-392's first draft. In released
Kafka the leader chooses.

A user may name their own class. The reader calls its `configure` once, its `select` whenever the
leader or the replicas change, and its `close` in the end. If the leader names a preferred replica,
the reader fetches from that replica, whatever the selector has chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from replica.errors import UsageError

SELECTOR_KEY = "replica.selector.class"
RACK_KEY = "client.rack"
_PLUGIN_METHODS = frozenset(("configure", "select", "close"))


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """A replica, as the metadata and this reader's own requests show it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None
    in_sync: bool = True
    """Whether the replica is in the ISR."""
    lag: int | None = None
    """The number of records by which the replica is behind the leader's high watermark; None while
    that number is unknown."""
    round_trip_ms: float | None = None
    """The round-trip time that was measured last; None before the first measurement."""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """The replicas of a partition."""

    leader_id: int
    """The node id of the leader; NO_NODE while there is no leader."""
    replicas: tuple[ReplicaView, ...]

    @property
    def leader(self) -> ReplicaView | None:
        return next((r for r in self.replicas if r.node_id == self.leader_id), None)

    @property
    def in_sync(self) -> tuple[ReplicaView, ...]:
        """The leader, and the replicas that keep up with it."""
        return tuple(r for r in self.replicas if r.in_sync or r.node_id == self.leader_id)


class ReplicaSelector(Protocol):
    def configure(self, values: Mapping[str, str]) -> None:
        """Take all settings of the consumer; called once. Raises UsageError, which names the
        key."""

    def select(self, partition: PartitionView) -> int | None:
        """The node id of the replica to read from; None to read from the leader."""

    def close(self) -> None:
        """Release what the selector holds; called when the consumer is closed."""


class LeaderSelector(ReplicaSelector):
    """Always chooses the leader. This is the default."""

    def configure(self, values: Mapping[str, str]) -> None:
        pass

    def select(self, partition: PartitionView) -> int | None:
        return None

    def close(self) -> None:
        pass


class RackSelector(LeaderSelector):
    """Chooses the leader if the leader is in the reader's rack. Otherwise chooses the in-sync
    replica of this rack that lags least (Kafka: RackAwareReplicaSelector)."""

    def __init__(self) -> None:
        self._rack = ""

    def configure(self, values: Mapping[str, str]) -> None:
        self._rack = values.get(RACK_KEY, "")
        if not self._rack:
            raise UsageError(f"{RACK_KEY}: missing; the rack selector must know where it is")

    def select(self, partition: PartitionView) -> int | None:
        near = [r for r in partition.in_sync if r.rack == self._rack]
        if any(r.node_id == partition.leader_id for r in near):
            return None
        return _least(near, _lag)


class NearestSelector(LeaderSelector):
    """Chooses the in-sync replica with the shortest round-trip time."""

    def select(self, partition: PartitionView) -> int | None:
        measured = [r for r in partition.in_sync if r.round_trip_ms is not None]
        return _least(measured, lambda r: r.round_trip_ms or 0.0)


class LeastLagSelector(LeaderSelector):
    """Chooses the in-sync follower that lags least, which reduces the load of the leader."""

    def select(self, partition: PartitionView) -> int | None:
        followers = [r for r in partition.in_sync if r.node_id != partition.leader_id]
        return _least(followers, _lag)


SELECTORS: dict[str, type[ReplicaSelector]] = {
    "leader": LeaderSelector,
    "rack": RackSelector,
    "nearest": NearestSelector,
    "least-lag": LeastLagSelector,
}


def selector_named(values: Mapping[str, str]) -> ReplicaSelector:
    """The selector that replica.selector.class names, configured with `values`. The name is a key
    of SELECTORS or module:Class. Raises UsageError."""
    name = values.get(SELECTOR_KEY, "leader")
    found = SELECTORS.get(name) or _imported(name)
    selector = found()
    selector.configure(values)
    return selector


def _imported(name: str) -> type[ReplicaSelector]:
    module, _, attribute = name.partition(":")
    known = ", ".join(SELECTORS)
    expected = f"{SELECTOR_KEY} {name}: expected one of {known}, or module:Class"
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{expected} ({error})") from error
    if not isinstance(found, type) or not _PLUGIN_METHODS.issubset(dir(found)):
        raise UsageError(f"{expected} with {', '.join(sorted(_PLUGIN_METHODS))}")
    return found


def _lag(replica: ReplicaView) -> float:
    return math.inf if replica.lag is None else replica.lag


def _least(among: Iterable[ReplicaView], cost: Callable[[ReplicaView], float]) -> int | None:
    best = min(among, key=lambda replica: (cost(replica), replica.node_id), default=None)
    return None if best is None else best.node_id
