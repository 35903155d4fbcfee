"""A run under random faults, from a seed to its result."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from replica.errors import KraftlakeError
from replica.raft.effects import Effects
from replica.shell_text import line
from replica.simulate.broken import BrokenInvariantError
from replica.simulate.coverage import Coverage, counts
from replica.simulate.host import SimulatedHost
from replica.simulate.nemesis import Fault, drawn, name_of
from replica.simulate.network import Network
from replica.simulate.node import Layout, SimulatedMachine
from replica.simulate.schedule import Event, Start, Strike
from replica.simulate.simulation import Simulation

SETTLE_MS = 120_000
"""The longest time (simulated ms) in which a quorum must recover after the faults have ended."""
_SETTLED_PAUSE_MS = 1000
"""The longest pause (ms) of a client after the faults have ended. The client's appends then only
show that the quorum works."""
SYNCS_MS = ((), (0,), (0, 2, 10), (0, 30, 400))
"""The durations (ms) of a node's syncs in another thread; empty for a node that syncs in its
steps."""


class Fork(NamedTuple):
    """A fork of a run: from event number `event` on, its random numbers come from another seed."""

    event: int
    seed: int


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run.

    events: the number of events that were carried out.
    trace: the SHA-256 of all events in order, which is equal for equal seeds.
    committed: the end (exclusive) of the committed log.
    acknowledged: the number of batches that were acknowledged to clients.
    broken: the invariant that broke, and how; None if all held.
    number: the run's number in its campaign; outside of a campaign, its seed.
    forks: the forks at which the run continued with other random numbers.
    reached: the situations that the run reached (Coverage.texts).
    counts: the numbers of replica.simulate.coverage.counts.
    """

    seed: int
    events: int
    trace: str
    committed: int
    acknowledged: int
    broken: str | None = None
    number: int = -1
    forks: tuple[Fork, ...] = ()
    reached: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()

    @property
    def replay_command(self) -> str:
        """The command that repeats this run exactly."""
        seeds = f"{self.seed}:{self.seed + 1}"
        words = ["kraftlake", "simulate", "--seeds", seeds, "--events", str(self.events)]
        return line(*words, "--forks", self.forks_text) if self.forks else line(*words)

    @property
    def forks_text(self) -> str:
        """The forks in the form of the option --forks: a comma-separated list of EVENT.SEED."""
        return ",".join(f"{fork.event}.{fork.seed}" for fork in self.forks)


def run(seed: int, events: int, forks: tuple[Fork, ...] = ()) -> Result:
    """Run `events` events under faults, then as many events as the quorum needs to recover without
    faults. Returns the result of the run.
    forks: the forks in ascending order, each at an event below `events`.
    """
    simulation = FaultyRun(seed)
    broken = None
    try:
        for fork in forks:
            simulation.run(fork.event)
            simulation.go_on_by(fork.seed)
        simulation.run(events)
        simulation.settle()
    except BrokenInvariantError as error:
        broken = str(error)
    except (AssertionError, KraftlakeError) as error:
        broken = f"core: {type(error).__name__}: {error}"
    invariants, trace = simulation.invariants, simulation.trace.hexdigest()
    acknowledged = invariants.appends.acknowledged
    end, reached = invariants.ledger.end, simulation.coverage.texts
    counted = counts(simulation.coverage, invariants.judged)
    return Result(seed, events, trace, end, acknowledged, broken, seed, forks, reached, counted)


class FaultyRun(Simulation):
    """A run in which the network loses messages, the nemesis causes faults, and nodes that were
    shut down start again.

    layout: the quorum at the beginning; None for a random quorum.
    events: the number of events that were carried out.
    trace: the hash of these events.
    is_faulty: whether faults still happen.
    faults: the faults that exist in this run.
    """

    def __init__(self, seed: int, layout: Layout | None = None) -> None:
        super().__init__(seed, layout)
        self.events = 0
        self.trace = hashlib.sha256()
        self.is_faulty = True
        self.coverage = Coverage()
        self.faults: tuple[Fault, ...] = ()
        self._draw_faults(seed)
        self._delays = Random(f"replays of {seed}")  # noqa: S311
        for node in self.nodes.values():
            node.at_once = self._delays.choice((None, None, 0, 3))
        self._syncs = Random(f"syncs of {seed}")  # noqa: S311
        for node in self.nodes.values():
            node.syncs = self._syncs.choice(SYNCS_MS)
        self.schedule.at(500, Strike())

    def go_on_by(self, seed: int) -> None:
        """Continue with random numbers from another seed. The faults of the run are also drawn
        again."""
        self.random.seed(seed)
        self._draw_faults(seed)

    def run(self, events: int) -> None:
        while self.events < events:
            self._next()

    def settle(self) -> None:
        """Stop the faults. Then the quorum must elect a leader, all replicas must get the records
        that the leader commits, and observers that make themselves voters must become voters."""
        self.is_faulty = False
        self.pause_ms = _SETTLED_PAUSE_MS
        self.network.stop_faults()
        for node in self.nodes.values():
            node.stop_faults()
            if node.host is None:
                self.start(node)
        before = self.invariants.ledger.end
        self.run_until(lambda: self._has_recovered(before), SETTLE_MS)
        self.invariants.ended([node.running for node in self.nodes.values()])

    def _happened(self, event: Event, node: SimulatedMachine | None) -> None:
        self.events += 1
        host = node.host if node else None
        shown = (host.raft.role.epoch, host.log.log_end, host.machine.next_offset) if host else ()
        name, node_id = type(event).__name__, node.node_id if node else 0
        self.trace.update(f"{self.now} {name} {node_id} {shown}\n".encode())

    def _stepped(self, host: SimulatedHost, effects: Effects) -> None:
        super()._stepped(host, effects)
        self.coverage.stepped(host, effects)

    def _draw_faults(self, seed: int) -> None:
        """Draw the faults from separate random numbers, so that a run's other draws don't depend on
        them."""
        rates = Network()
        self.faults = drawn(Random(f"faults of {seed}"), rates)  # noqa: S311
        self.network.loss, self.network.duplication = rates.loss, rates.duplication
        self.network.straggling = rates.straggling

    def _replay_takes(self) -> int:
        return self._delays.choice((0, 5, 50, 400)) if self.is_faulty else 1

    def _sync_takes(self, node: SimulatedMachine) -> tuple[int, bool]:
        return self._syncs.choice(node.syncs), self._syncs.random() < 0.5

    def _come_back(self, node: SimulatedMachine) -> None:
        down_ms = self.random.randrange(1, 3000) if self.is_faulty else 1
        self.schedule.after(down_ms, Start(node.node_id))

    def _shut_down(self, node: SimulatedMachine) -> None:
        self._come_back(node)

    def _strike(self) -> SimulatedMachine | None:
        if not self.is_faulty:
            return None
        self.schedule.after(self.random.randrange(20, 800), Strike())
        node = self.random.choice(list(self.nodes.values()))
        fault = self.random.choice(self.faults)
        self.coverage.struck(name_of(fault))
        fault(self, node)
        return node

    def _has_recovered(self, before: int) -> bool:
        hosts = [node.host for node in self.nodes.values()]
        return self.invariants.ledger.end > before and all(
            host is not None and host.machine.next_offset > before and not host.raft.is_joining
            for host in hosts
        )
