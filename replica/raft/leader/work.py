"""What a leader keeps outside of its role. Each fetch of a voter copies the role (roles.Leader), so
the role is kept small."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from types import MappingProxyType

from replica.model.keys import ReplicaKey
from replica.raft.config import Config
from replica.raft.leader.accumulator import BatchAccumulator
from replica.raft.leader.parked import ParkedFetch, ParkedFetches
from replica.raft.roles import ReplicaProgress

OBSERVER_SESSION_MS = 300_000
"""The time (ms) without a fetch after which a leader forgets an observer
(LeaderState.OBSERVER_SESSION_TIMEOUT_MS)."""

MOST_OBSERVERS = 10_000
"""The largest number of observers whose progress a leader knows. Each directory id counts as
another observer, so without this limit a peer could make a leader's memory grow without end."""


class ObserverProgress:
    """The progress of the observers that a leader knows, in the order of their last fetches.

    Any client may be an observer. Each fetch of a voter copies the frozen Leader. This table isn't
    part of Leader, so the cost of a fetch doesn't grow with the number of observers. Kafka's leader
    also keeps the observers apart from the voters (LeaderState.observerStates).
    """

    def __init__(self) -> None:
        self._progress: OrderedDict[ReplicaKey, ReplicaProgress] = OrderedDict()

    @property
    def view(self) -> Mapping[ReplicaKey, ReplicaProgress]:
        """The progress of all observers. Callers only read it."""
        return MappingProxyType(self._progress)

    def get(self, key: ReplicaKey) -> ReplicaProgress | None:
        return self._progress.get(key)

    def put(self, key: ReplicaKey, progress: ReplicaProgress) -> None:
        """Note the progress of an observer that has just fetched. If there are now more than
        MOST_OBSERVERS observers, the observer with the oldest last fetch is forgotten."""
        self._progress[key] = progress
        self._progress.move_to_end(key)
        if len(self._progress) > MOST_OBSERVERS:
            self._progress.popitem(last=False)

    def remove(self, key: ReplicaKey) -> ReplicaProgress | None:
        """Take out an observer that has become a voter. Returns its progress; None for an unknown
        observer."""
        return self._progress.pop(key, None)

    def forget_idle(self, now_ms: int) -> None:
        """Forget the observers that haven't fetched for OBSERVER_SESSION_MS."""
        since = now_ms - OBSERVER_SESSION_MS
        for key in [key for key, each in self._progress.items() if each.last_fetch <= since]:
            del self._progress[key]

    def clear(self) -> None:
        self._progress.clear()


class LeaderWork:
    """What a leader keeps outside of its role. This value is empty while the replica doesn't lead.

    parked: the fetches that wait for records or a newer high watermark.
    observers: how far the logs of the observers are.
    accumulator: the records of the state machine that wait for the linger.
    """

    def __init__(self, config: Config) -> None:
        self.parked = ParkedFetches()
        self.observers = ObserverProgress()
        self.accumulator = BatchAccumulator(
            config.append_linger_ms, config.max_batch_bytes, config.max_pending_batches
        )

    def drop(self) -> list[ParkedFetch]:
        """Forget everything, because this replica no longer leads. Returns the waiting fetches,
        which the caller has to answer."""
        self.accumulator.drain()
        self.observers.clear()
        return self.parked.take_all()
