"""One run: a seed in, what became of it out. Events lie in a heap by simulated time.

The seed decides everything: no clock is read, nothing depends on the order of a set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import Any

from replica.errors import FileSystemError, KraftlakeError
from replica.raft.effects import Effects
from replica.raft.inputs import Clean, Proposal, Propose, Request, Response
from replica.raft.leading import NotLeaderError
from replica.raft.messages import PeerRequest
from replica.raft.roles.leader import Leader
from replica.simulate.disk import PowerLossError
from replica.simulate.host import SimulatedHost
from replica.simulate.invariants import BrokenInvariantError, Invariants
from replica.simulate.nemesis import strike
from replica.simulate.network import Network
from replica.simulate.node import Node, first_nodes, node_of
from replica.storage.batches import value_batch

SETTLE_MS = 120_000


@dataclass(frozen=True, slots=True)
class Result:
    """events: carried out. broken: the invariant and what broke it, None where all held. trace:
    SHA-256 over all events in order; the same for the same seed. committed: end offset."""

    seed: int
    events: int
    trace: str
    committed: int
    broken: str | None = None

    @property
    def replay_command(self) -> str:
        """Runs this seed again."""
        return f"kraftlake simulate --seeds {self.seed}:{self.seed + 1} --events {self.events}"


def run(seed: int, events: int) -> Result:
    """`events` events under faults, then as many as it takes to recover without them."""
    simulation = Simulation(seed)
    broken = None
    try:
        simulation.run(events)
        simulation.settle()
    except BrokenInvariantError as error:
        broken = str(error)
    except (AssertionError, KraftlakeError) as error:
        broken = f"core: {type(error).__name__}: {error}"
    trace, end = simulation.trace.hexdigest(), simulation.invariants.ledger.end
    return Result(seed, events, trace, end, broken)


class Simulation:
    """now: simulated time in ms; events: how many were carried out."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - a repeatable run, no secret
        self.now = 0
        self.events = 0
        self.faulty = True
        self.trace = hashlib.sha256()
        self.invariants = Invariants()
        self.network = Network()
        self._heap: list[tuple[int, int, str, int, Any]] = []
        self._count = 0
        self.nodes: dict[int, Node] = first_nodes(self.random)
        for node_id in self.nodes:
            self._at(0, "start", node_id, None)
        self._at(50, "propose", 0, None)
        self._at(500, "fault", 0, None)

    def run(self, events: int) -> None:
        while self.events < events:
            self._next()

    def settle(self) -> None:
        """Faults stop: a leader must be found and everybody must get what it commits."""
        self.faulty = False
        self.network.stop_faults()
        for node in self.nodes.values():
            node.stop_faults()
        before, end = self.invariants.ledger.end, self.now + SETTLE_MS
        while not self._has_recovered(before):
            if self.now > end:
                ends = {i: n.host and n.host.machine.next_offset for i, n in self.nodes.items()}
                raise BrokenInvariantError("liveness", f"{before} committed, now {ends}")
            self._next()

    def leader(self) -> Node | None:
        """The one of the newest epoch, None where nobody leads."""
        leading = [
            n for n in self.nodes.values() if n.host and isinstance(n.host.raft.role, Leader)
        ]
        return max(leading, key=lambda n: n.running.raft.role.epoch, default=None)

    def crash(self, node: Node) -> None:
        """Power goes now, and comes back after a while."""
        node.host = None
        node.disk.crash()
        self._at(self.random.randrange(1, 3000) if self.faulty else 1, "start", node.node_id, None)

    def ask(self, node: Node, request: PeerRequest) -> None:
        """An administrator's request; nobody reads the answer."""
        self._do(node, lambda host, now: host.step(Request("administrator", request), now))

    def do(self, node: Node, what: str) -> None:
        """snapshot or clean."""
        if what == "snapshot":
            self._do(node, lambda host, now: host.snapshot(now))
        else:
            self._do(node, lambda host, now: host.step(Clean(host.log.size_bytes), now))

    def _at(self, delay_ms: int, kind: str, node_id: int, payload: Any) -> None:
        self._count += 1
        heappush(self._heap, (self.now + delay_ms, self._count, kind, node_id, payload))

    def _next(self) -> None:
        self.now, _, kind, node_id, payload = heappop(self._heap)
        if kind == "tick" and self.nodes[node_id].wake_at != self.now:
            return
        self.events += 1
        getattr(self, f"_{kind}")(node_id, payload)
        node = self.nodes.get(node_id)
        host = node.host if node else None
        shown = (host.raft.role.epoch, host.log.log_end, host.machine.next_offset) if host else ()
        self.trace.update(f"{self.now} {kind} {node_id} {shown}\n".encode())

    def _start(self, node_id: int, _: None) -> None:
        node = self.nodes[node_id]
        if node.host is not None:
            return
        node.disk.restart()
        node.boots += 1
        draws = Random(self.random.random())  # noqa: S311
        try:
            now, watch = node.local(self.now), self.invariants.stepped
            host = SimulatedHost(node.config, node.disk, draws.randrange, now, watch)
            self.invariants.opened(host)
        except (PowerLossError, FileSystemError):
            self.crash(node)
            return
        node.host, node.wake_at, node.flush_due = host, -1, False
        self._do(node, lambda host, now: host.tick(now))

    def _tick(self, node_id: int, _: None) -> None:
        self.nodes[node_id].wake_at = -1
        self._do(self.nodes[node_id], lambda host, now: host.tick(now))

    def _flush(self, node_id: int, boot: int) -> None:
        node = self.nodes[node_id]
        if node.host is not None and node.boots == boot:
            node.flush_due = False
            self._do(node, lambda host, now: host.flush(now))

    def _propose(self, _: int, __: None) -> None:
        self._at(self.random.randrange(1, 120), "propose", 0, None)
        node = self.leader()
        if node is None:
            return
        host = node.running
        epoch, base = host.raft.role.epoch, host.raft.log.log_end
        content = b"%d" % self._count * self.random.randrange(1, 30)
        proposal = Proposal(1, value_batch(0, 0, self.now, [content]))
        try:
            self.invariants.proposed(base, epoch)
            self._do(node, lambda host, now: host.step(Propose(epoch, (proposal,)), now))
        except NotLeaderError:
            return

    def _fault(self, _: int, __: None) -> None:
        if self.faulty:
            self._at(self.random.randrange(20, 800), "fault", 0, None)
            strike(self)

    def _deliver(self, node_id: int, payload: tuple[int, Any]) -> None:
        boot, event = payload
        node = self.nodes[node_id]
        if boot in (0, node.boots):
            self._do(node, lambda host, now: host.step(event, now))

    def _do(self, node: Node, action: Any) -> None:
        if node.host is None:
            return
        try:
            for effects in action(node.host, node.local(self.now)):
                self._send(node, effects)
        except (PowerLossError, FileSystemError):
            self.crash(node)
            return
        self._schedule(node)

    def _schedule(self, node: Node) -> None:
        host = node.running
        if host.must_flush and not node.flush_due:
            node.flush_due = True
            delay = self.random.randrange(200 if node.is_slow else 3)
            self._at(delay, "flush", node.node_id, node.boots)
        at = max(self.now, node.due(host.raft.next_deadline()))
        if at != node.wake_at and at < 2**60:
            node.wake_at = at
            self._at(at - self.now, "tick", node.node_id, None)

    def _send(self, node: Node, effects: Effects) -> None:
        for send in effects.sends:
            name = (node.node_id, send.node_id, send.correlation_id, node.boots)
            request = Request(name, send.message)
            self._post(node.node_id, node_of(send.node_id), 0, request)
        for reply in effects.replies:
            if isinstance(reply.request_id, tuple):
                asker, asked, correlation_id, boot = reply.request_id
                response = Response(asked, correlation_id, node.running.filled(reply))
                self._post(node.node_id, asker, boot, response)

    def _post(self, sender: int, receiver: int, boot: int, event: Any) -> None:
        for delay in self.network.delays(self.random, sender, receiver):
            self._at(delay, "deliver", receiver, (boot, event))

    def _has_recovered(self, before: int) -> bool:
        end = self.invariants.ledger.end
        hosts: Iterator[SimulatedHost | None] = (node.host for node in self.nodes.values())
        return end > before and all(h is not None and h.machine.next_offset > before for h in hosts)
