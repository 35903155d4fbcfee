"""The wish of a reader which replica to read from, as KIP-392's first draft has it (released
Kafka lets the leader choose).

A selector may be anybody's class: `configure` once, `select` whenever leader or replicas change,
`close` in the end. What it names is a wish; the leader's own preferred replica goes before it.
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
    """A replica as its leader and our own requests show it.

    lag: records behind the leader's high watermark, None while unknown. round_trip_ms: of the last
    requests there, None before the first.
    """

    node_id: int
    host: str
    port: int
    rack: str | None = None
    in_sync: bool = True
    lag: int | None = None
    round_trip_ms: float | None = None


@dataclass(frozen=True, slots=True)
class PartitionView:
    """leader_id: one of `replicas`, NO_NODE while there is none."""

    leader_id: int
    replicas: tuple[ReplicaView, ...]

    @property
    def leader(self) -> ReplicaView | None:
        return next((r for r in self.replicas if r.node_id == self.leader_id), None)

    @property
    def in_sync(self) -> tuple[ReplicaView, ...]:
        """The leader, and those that keep up with it."""
        return tuple(r for r in self.replicas if r.in_sync or r.node_id == self.leader_id)


class ReplicaSelector(Protocol):
    def configure(self, values: Mapping[str, str]) -> None:
        """All settings of the consumer, once. Raises UsageError naming the key."""

    def select(self, partition: PartitionView) -> int | None:
        """A node id; None for the leader."""

    def close(self) -> None:
        """The consumer ends."""


class LeaderSelector(ReplicaSelector):
    """Reads from the leader, always: the default."""

    def configure(self, values: Mapping[str, str]) -> None:
        pass

    def select(self, partition: PartitionView) -> int | None:
        return None

    def close(self) -> None:
        pass


class RackSelector(LeaderSelector):
    """The leader if it is in our rack, else the in-sync replica there that lags least (Kafka:
    RackAwareReplicaSelector)."""

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
    """The in-sync replica that answers fastest."""

    def select(self, partition: PartitionView) -> int | None:
        measured = [r for r in partition.in_sync if r.round_trip_ms is not None]
        return _least(measured, lambda r: r.round_trip_ms or 0.0)


class LeastLagSelector(LeaderSelector):
    """The follower that is behind least, to keep load off the leader."""

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
    """The one that replica.selector.class names, configured: a key of SELECTORS, or module:Class
    of anybody's. Raises UsageError."""
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
