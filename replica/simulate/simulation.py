"""One run, from a seed to its result. The seed decides everything: the run reads no clock, and
doesn't depend on the order of a set."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from replica.errors import FileSystemError, KraftlakeError
from replica.format.whole_batch import value_batch
from replica.model.stored import LeaderAndEpoch
from replica.raft import inputs
from replica.raft.effects import Effects
from replica.raft.leader.leading import NotLeaderError
from replica.raft.messages import PeerRequest
from replica.raft.roles import Leader
from replica.simulate.broken import BrokenInvariantError, broken
from replica.simulate.counts import counts
from replica.simulate.coverage import Coverage
from replica.simulate.disk import PowerLossError
from replica.simulate.host import SimulatedHost
from replica.simulate.invariants import Invariants
from replica.simulate.nemesis import Fault, drawn, strike
from replica.simulate.network import Network
from replica.simulate.node import Layout, SimulatedMachine, first_nodes, node_of, random_layout
from replica.simulate.schedule import (
    Deliver,
    Event,
    Flush,
    Propose,
    Schedule,
    Start,
    Strike,
    Wake,
)

SETTLE_MS = 120_000
_PAUSE_MS, _SETTLED_PAUSE_MS = 120, 1000
"""The longest pause (ms) of a client between two appends, while faults last and afterwards, when
the client has only to show that the quorum goes on."""


class Fork(NamedTuple):
    """A fork of a run: from event number `event` on, its random numbers come from another seed."""

    event: int
    seed: int


@dataclass(frozen=True, slots=True)
class Result:
    """events: how many were carried out. broken: the invariant and what broke it, None for none.

    trace: SHA-256 of all events in order, equal for equal seeds. committed: the end offset of the
    committed log. acknowledged: how many batches were acknowledged to clients. number: the run's
    place in its campaign. reached: see Coverage.texts. counts: see replica.simulate.counts.
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
        command = f"kraftlake simulate --seeds {self.seed}:{self.seed + 1} --events {self.events}"
        return f"{command} --forks {self.forks_text}" if self.forks else command

    @property
    def forks_text(self) -> str:
        """EVENT.SEED of each fork, with commas between."""
        return ",".join(f"{fork.event}.{fork.seed}" for fork in self.forks)


def run(seed: int, events: int, forks: tuple[Fork, ...] = ()) -> Result:
    """Run `events` events under faults, then as many as the quorum needs to recover without
    faults. forks: ascending, all below `events`."""
    simulation = Simulation(seed)
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


class Simulation:
    """A run. events: the number of events that were carried out. layout: the quorum at the
    beginning; None for a random one, whose observers make themselves voters for one seed in four.

    is_faulty: whether the network loses messages, the nemesis strikes, and nodes that were shut
    down start again. If not, only the caller causes faults. nodes: a function that makes the nodes
    from the run's random numbers, in place of the layout's nodes. None of them is started.
    """

    def __init__(
        self,
        seed: int,
        layout: Layout | None = None,
        *,
        is_faulty: bool = True,
        nodes: Callable[[Random], dict[int, SimulatedMachine]] | None = None,
    ) -> None:
        self.random = Random(seed)  # noqa: S311 - a repeatable run, no secret
        self.schedule = Schedule()
        self.events = 0
        self.is_faulty = is_faulty
        self._restarts = is_faulty
        self._pause_ms = _PAUSE_MS
        self.trace = hashlib.sha256()
        self.network = Network()
        self.layout = layout or random_layout(self.random, auto_joins=seed % 4 == 3)
        self.nodes: dict[int, SimulatedMachine]
        self.nodes = nodes(self.random) if nodes else first_nodes(self.random, self.layout)
        voters = self.layout.first_voters
        static = next(iter(self.nodes.values())).config.static_voters
        self.invariants = Invariants(self.layout.workload, voters, static)
        self.coverage = Coverage()
        self.faults: tuple[Fault, ...] = ()
        self._newest_timestamp = 0
        if not is_faulty:
            self.network.stop_faults()
        for node_id in () if nodes else self.nodes:
            self.schedule.at(0, Start(node_id))
        self.schedule.at(50, Propose())
        if is_faulty:
            self._draw_faults(seed)
            self.schedule.at(500, Strike())

    @property
    def now(self) -> int:
        """Simulated time in ms."""
        return self.schedule.now

    def go_on_by(self, seed: int) -> None:
        """Draw from another seed from now on. This also chooses anew which faults exist."""
        self.random.seed(seed)
        self._draw_faults(seed)

    def run(self, events: int) -> None:
        while self.events < events:
            self._next()

    def run_until(self, is_reached: Callable[[], bool], within_ms: int) -> None:
        """Go on until the condition holds. Raises BrokenInvariantError (liveness) where it doesn't
        hold in time."""
        end = self.now + within_ms
        while not is_reached():
            if self.now > end:
                broken("liveness", self._standing())
            self._next()

    def settle(self) -> None:
        """Stop the faults. Then a leader must be found, all replicas must get what it commits, and
        observers that make themselves voters must become voters."""
        self.is_faulty = False
        self._pause_ms = _SETTLED_PAUSE_MS
        self.network.stop_faults()
        for node in self.nodes.values():
            node.stop_faults()
            if node.host is None:
                self.start(node)
        before = self.invariants.ledger.end
        self.run_until(lambda: self._has_recovered(before), SETTLE_MS)
        self.invariants.ended([node.running for node in self.nodes.values()])

    def leaders(self) -> list[SimulatedMachine]:
        """The nodes that believe that they lead. If there are two, the node with the older epoch
        doesn't know of the other yet."""
        return [n for n in self.nodes.values() if n.host and isinstance(n.host.raft.role, Leader)]

    def leader(self) -> SimulatedMachine | None:
        """The leader of the newest epoch; None where no node leads."""
        return max(self.leaders(), key=lambda n: n.running.raft.role.epoch, default=None)

    def kill(self, node: SimulatedMachine) -> None:
        """Cut a node's power. It doesn't come back by itself."""
        node.host = None
        node.disk.crash()

    def start(self, node: SimulatedMachine) -> None:
        """Let a node's power come back."""
        self.schedule.after(1, Start(node.node_id))

    def crash(self, node: SimulatedMachine) -> None:
        """Cut a node's power. It comes back after a while."""
        self.kill(node)
        self._come_back(node)

    def step(self, node: SimulatedMachine, event: inputs.Input) -> None:
        """Give a replica an input, unless its node is down."""
        self._do(node, lambda host, now: host.step(event, now))

    def ask(self, node: SimulatedMachine, request: PeerRequest) -> None:
        """Send an administrator's request, without reading the answer."""
        self.step(node, inputs.Request("administrator", request))

    def snapshot(self, node: SimulatedMachine) -> None:
        """Let a node write a snapshot of what it has applied, and clean its log as configured."""
        self._do(node, lambda host, now: host.snapshot(now))
        if node.host is not None:
            self.step(node, inputs.Clean(node.host.log.size_bytes))

    def _next(self) -> None:
        event = self.schedule.take()
        if isinstance(event, Propose):
            node = self._propose()
        elif isinstance(event, Strike):
            node = self._strike()
        else:
            node = self.nodes[event.node_id]
            if not self._is_due(node, event):
                return
            self._happen(node, event)
        self.events += 1
        host = node.host if node else None
        shown = (host.raft.role.epoch, host.log.log_end, host.machine.next_offset) if host else ()
        name, node_id = type(event).__name__, node.node_id if node else 0
        self.trace.update(f"{self.now} {name} {node_id} {shown}\n".encode())

    def _is_due(self, node: SimulatedMachine, event: Start | Wake | Flush | Deliver) -> bool:
        """Whether an event happens now. Some events have no effect any more, and a node that waits
        for its disk takes its events later."""
        if isinstance(event, Start):
            return node.host is None
        if isinstance(event, Wake) and event.at != node.wake_at:
            return False
        if node.host is not None and self.now < node.busy_until:
            self.schedule.at(node.busy_until, event)
            return False
        return True

    def _happen(self, node: SimulatedMachine, event: Event) -> None:
        match event:
            case Start():
                self._start(node)
            case Wake():
                node.wake_at = -1
                self._do(node, lambda host, now: host.tick(now))
            case Flush(boot=boot):
                if boot == node.boots:
                    node.flush_due = False
                    self._do(node, lambda host, now: host.flush(now))
            case Deliver(boot=boot, message=message):
                if boot in (0, node.boots):
                    self._refuse(node, message) if node.host is None else self.step(node, message)

    def _start(self, node: SimulatedMachine) -> None:
        draws = Random(self.random.random())  # noqa: S311
        try:
            host = node.start(draws.randrange, self.now, self._stepped)
            self.invariants.opened(host)
        except (PowerLossError, FileSystemError):
            self.crash(node)
            return
        node.host = host
        self._do(node, lambda host, now: host.tick(now))

    def _stepped(self, host: SimulatedHost, effects: Effects) -> None:
        self.invariants.stepped(host, effects)
        self.coverage.stepped(host, effects)

    def _draw_faults(self, seed: int) -> None:
        """Draws the faults from random numbers of their own, so that a run's other draws don't
        depend on them."""
        rates = Network()
        self.faults = drawn(Random(f"faults of {seed}"), rates)  # noqa: S311
        self.network.loss, self.network.duplication = rates.loss, rates.duplication
        self.network.straggling = rates.straggling

    def _come_back(self, node: SimulatedMachine) -> None:
        down_ms = self.random.randrange(1, 3000) if self.is_faulty else 1
        self.schedule.after(down_ms, Start(node.node_id))

    def _strike(self) -> SimulatedMachine | None:
        if not self.is_faulty:
            return None
        self.schedule.after(self.random.randrange(20, 800), Strike())
        return strike(self)

    def _propose(self) -> SimulatedMachine | None:
        """Let a client append at a node that believes that it leads."""
        self.schedule.after(self.random.randrange(1, self._pause_ms), Propose())
        leaders = self.leaders()
        if not leaders:
            return None
        node = self.random.choice(leaders)
        host, told = node.running, node.running.observed.leader
        epoch = host.raft.role.epoch
        made = self.layout.workload.batches(
            self.random,
            self.schedule.asked,
            host.observed.machine,
            is_active=told == LeaderAndEpoch(node.node_id, epoch),
            is_idle=host.machine.next_offset == host.raft.log.log_end,
        )
        if not made:
            return node
        proposals = []
        for values in made:
            self._newest_timestamp = max(self._newest_timestamp + 1, self.now)
            data = value_batch(0, 0, self._newest_timestamp, values)
            proposals.append(inputs.Proposal(len(values), data))
        self.invariants.appends.invoked(host, epoch, [proposal.data for proposal in proposals])
        with suppress(NotLeaderError):
            self.step(node, inputs.Propose(epoch, tuple(proposals)))
        return node

    def _do(
        self, node: SimulatedMachine, action: Callable[[SimulatedHost, int], Iterator[Effects]]
    ) -> None:
        host = node.host
        if host is None:
            return
        try:
            for effects in action(host, node.clock(self.now)):
                node.wait_for_disk(self.now)
                self._send(node, effects)
            if host.has_stopped:
                host.log.close()
                node.host = None
                if self._restarts:
                    self._come_back(node)
        except (PowerLossError, FileSystemError):
            self.crash(node)
        if node.host is not None:
            self._plan(node, node.host)

    def _plan(self, node: SimulatedMachine, host: SimulatedHost) -> None:
        """Schedule the flush that the replica owes, and its next deadline."""
        if host.owes_flush and not node.flush_due:
            node.flush_due = True
            delay = self.random.randrange(200 if node.is_slow else 3)
            self.schedule.after(delay, Flush(node.node_id, node.boots))
        at = max(self.now, node.due(host.raft.next_deadline()))
        if at != node.wake_at and at < 2**60:
            node.wake_at = at
            self.schedule.at(at, Wake(node.node_id, at))

    def _send(self, node: SimulatedMachine, effects: Effects) -> None:
        for send in effects.sends:
            name = (node.node_id, send.node_id, send.correlation_id, node.boots)
            request = inputs.Request(name, send.message)
            self._post(node.node_id, node_of(send.node_id), 0, request)
        for reply in effects.replies:
            if isinstance(reply.request_id, tuple):
                asker, asked, correlation_id, boot = reply.request_id
                message = node.running.filled(reply)
                response = inputs.Response(asked, correlation_id, message)
                self._post(node.node_id, asker, boot, response)

    def _refuse(self, node: SimulatedMachine, message: inputs.Input) -> None:
        """Tell the sender of a request that the node is down, or by chance nothing."""
        if isinstance(message, inputs.Request) and isinstance(message.request_id, tuple):
            asker, asked, correlation_id, boot = message.request_id
            if self.random.random() < self.network.refusals:
                failed = inputs.Failed(asked, correlation_id)
                self._post(node.node_id, asker, boot, failed)

    def _post(self, sender: int, receiver: int, boot: int, message: inputs.Input) -> None:
        is_request = isinstance(message, inputs.Request)
        leaves = max(self.now, self.nodes[sender].busy_until)
        for delay in self.network.delays(self.random, sender, receiver, is_request=is_request):
            self.schedule.at(leaves + delay, Deliver(receiver, boot, message))

    def _has_recovered(self, before: int) -> bool:
        if self.invariants.ledger.end <= before:
            return False
        hosts = [node.host for node in self.nodes.values()]
        return all(
            host is not None and host.machine.next_offset > before for host in hosts
        ) and not any(host is not None and host.raft.is_joining for host in hosts)

    def _standing(self) -> str:
        ends = {i: n.host and n.host.machine.next_offset for i, n in self.nodes.items()}
        joining = [i for i, n in self.nodes.items() if n.host and n.host.raft.is_joining]
        waiting = f", {joining} still join" if joining else ""
        return f"{self.invariants.ledger.end} committed, replicas are at {ends}{waiting}"
