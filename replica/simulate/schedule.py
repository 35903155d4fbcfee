"""The queue of events by simulated time. Events of the same ms come in the order in which they were
scheduled (Kafka: RaftEventSimulationTest.EventScheduler)."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

from replica.raft.inputs import Input


@dataclass(frozen=True, slots=True)
class Start:
    """Power comes back to a node that is down."""

    node_id: int


@dataclass(frozen=True, slots=True)
class Wake:
    """A replica's deadline. This event has no effect if the node's wake-up is no longer at the time
    `at` (ms)."""

    node_id: int
    at: int


@dataclass(frozen=True, slots=True)
class Flush:
    """The flush that a replica has to make, or the end of a flush that has begun. This event has no
    effect if the node has restarted since it was scheduled."""

    node_id: int
    boot: int


@dataclass(frozen=True, slots=True)
class Replay:
    """The beginning or the end of a replay for a replica's state machine. This event has no effect
    if the node has restarted since it was scheduled."""

    node_id: int
    boot: int


@dataclass(frozen=True, slots=True)
class Deliver:
    """A message reaches a node. boot: the number of the node's start for which the message is
    meant; 0 for any start."""

    node_id: int
    boot: int
    message: Input


@dataclass(frozen=True, slots=True)
class Propose:
    """A client asks a leader to append."""


@dataclass(frozen=True, slots=True)
class Strike:
    """The nemesis causes a fault."""


Event: TypeAlias = Start | Wake | Flush | Replay | Deliver | Propose | Strike


class Schedule:
    """The queue of all events that are still to come.

    now: the time (ms) of the last event that was taken.
    asked: the number of events that were ever scheduled.
    """

    def __init__(self) -> None:
        self.now = 0
        self.asked = 0
        self._queue: list[tuple[int, int, Event]] = []

    def at(self, time_ms: int, event: Event) -> None:
        """Schedule an event at this time, which must not lie in the past."""
        assert time_ms >= self.now, "nothing happens in the past"
        self.asked += 1
        heappush(self._queue, (time_ms, self.asked, event))

    def after(self, delay_ms: int, event: Event) -> None:
        self.at(self.now + delay_ms, event)

    def take(self) -> Event:
        """Take out and return the next event. `now` becomes its time."""
        self.now, _, event = heappop(self._queue)
        return event
