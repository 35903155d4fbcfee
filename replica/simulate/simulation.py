"""A simulated quorum with its clients, whose events happen one after another. The seed decides
everything: a run reads no clock, and doesn't depend on the order of a set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random

from replica.errors import FileSystemError
from replica.format.whole_batch import value_batch
from replica.model.stored import LeaderAndEpoch
from replica.raft import inputs
from replica.raft.effects import Effects
from replica.raft.leader.leading import NotLeaderError
from replica.raft.messages import PeerRequest
from replica.raft.roles import Leader
from replica.simulate.broken import broken
from replica.simulate.disk import PowerLossError
from replica.simulate.host import ADMINISTRATOR, SimulatedHost
from replica.simulate.invariants import Invariants
from replica.simulate.network import Network
from replica.simulate.node import Layout, SimulatedMachine, first_nodes, node_of, random_layout
from replica.simulate.schedule import (
    Deliver,
    Event,
    Flush,
    Propose,
    Replay,
    Schedule,
    Start,
    Strike,
    Wake,
)
from replica.simulate.workload import Values


class Simulation:
    """A run in which only the caller causes faults.

    layout: the quorum at the beginning; None for a random quorum, whose observers make themselves
        voters for one seed in four.
    pause_ms: the longest pause (ms) of a client between two appends.
    nodes: a function that makes the nodes from the run's random numbers, instead of the layout's
        nodes. The nodes aren't started.
    invariants: the class that checks every step.
    """

    def __init__(
        self,
        seed: int,
        layout: Layout | None = None,
        *,
        nodes: Callable[[Random], dict[int, SimulatedMachine]] | None = None,
        invariants: type[Invariants] = Invariants,
    ) -> None:
        self.random = Random(seed)  # noqa: S311 - a repeatable run, no secret
        self.schedule = Schedule()
        self.pause_ms = 120
        self.network = Network()
        self.network.stop_faults()
        self.layout = layout or random_layout(self.random, auto_joins=seed % 4 == 3)
        self.nodes: dict[int, SimulatedMachine]
        self.nodes = nodes(self.random) if nodes else first_nodes(self.random, self.layout)
        voters = self.layout.first_voters
        static = next(iter(self.nodes.values())).config.static_voters
        self.invariants = invariants(self.layout.workload, voters, static)
        self._newest_timestamp = 0
        for node_id in () if nodes else self.nodes:
            self.schedule.at(0, Start(node_id))
        self.schedule.at(50, Propose())

    @property
    def now(self) -> int:
        """Simulated time in ms."""
        return self.schedule.now

    def run_until(self, is_reached: Callable[[], bool], within_ms: int) -> None:
        """Run until the condition holds. Raises BrokenInvariantError (liveness) if the condition
        doesn't hold within `within_ms`."""
        end = self.now + within_ms
        while not is_reached():
            if self.now > end:
                broken("liveness", self._standing())
            self._next()

    def leaders(self) -> list[SimulatedMachine]:
        """The nodes whose role is leader. If there are two such nodes, the node with the older
        epoch doesn't know the other node's epoch yet."""
        return [n for n in self.nodes.values() if n.host and isinstance(n.host.raft.role, Leader)]

    def leader(self) -> SimulatedMachine | None:
        """The leader of the newest epoch; None if no node leads."""
        return max(self.leaders(), key=lambda n: n.running.raft.role.epoch, default=None)

    def kill(self, node: SimulatedMachine) -> None:
        """Cut a node's power until `start`."""
        node.host = None
        node.disk.crash()

    def start(self, node: SimulatedMachine) -> None:
        """Restore a node's power."""
        self.schedule.after(1, Start(node.node_id))

    def crash(self, node: SimulatedMachine) -> None:
        """Cut a node's power for a while."""
        self.kill(node)
        self._come_back(node)

    def step(self, node: SimulatedMachine, event: inputs.Input) -> None:
        """Give a replica an input, unless its node is down."""
        self._do(node, lambda host, now: host.step(event, now))

    def ask(self, node: SimulatedMachine, request: PeerRequest) -> None:
        """Send an administrator's request, without reading the answer."""
        self.step(node, inputs.Request(ADMINISTRATOR, request))

    def append(self, node: SimulatedMachine, batches: Sequence[Values], time_ms: int) -> None:
        """Let a client append batches at a node whose role is leader. Each batch has another
        timestamp, `time_ms` or later. Raises NotLeaderError if the node no longer leads,
        RecordBatchTooLargeError if a batch is too large, and UsageError for a future epoch."""
        proposals = []
        for values in batches:
            self._newest_timestamp = max(self._newest_timestamp + 1, time_ms)
            data = value_batch(0, 0, self._newest_timestamp, values)
            proposals.append(inputs.Proposal(len(values), data))
        host = node.running
        epoch = host.raft.role.epoch
        self.invariants.appends.invoked(host, epoch, [proposal.data for proposal in proposals])
        self.step(node, inputs.Propose(epoch, tuple(proposals)))

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
            self._carry_out(node, event)
        self._happened(event, node)

    def _happened(self, event: Event, node: SimulatedMachine | None) -> None:
        """The simulation calls this method after each event, so that a subclass can note the event.
        node: the node at which the event happened; None if the event happened at no node.
        """

    def _is_due(
        self, node: SimulatedMachine, event: Start | Wake | Flush | Replay | Deliver
    ) -> bool:
        """Whether an event happens now. Some events no longer have an effect. The events of a node
        that waits for its disk happen later."""
        if isinstance(event, Start):
            return node.host is None
        if isinstance(event, Wake) and event.at != node.wake_at:
            return False
        if node.host is not None and self.now < node.busy_until:
            self.schedule.at(node.busy_until, event)
            return False
        return True

    def _carry_out(self, node: SimulatedMachine, event: Event) -> None:
        match event:
            case Start():
                self._start(node)
            case Wake():
                node.wake_at = -1
                self._do(node, lambda host, now: host.tick(now))
            case Flush(boot=boot):
                if boot == node.boots:
                    node.flush_due = False
                    self._do(node, lambda host, now: self._flush(node, host, now))
            case Replay(boot=boot):
                if boot == node.boots:
                    node.replay_due = False
                    self._do(node, lambda host, now: _replay(node, host))
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

    def _come_back(self, node: SimulatedMachine) -> None:
        self.start(node)

    def _shut_down(self, node: SimulatedMachine) -> None:
        """The simulation calls this method when a replica has shut down by itself. Here the
        replica's node stays down."""

    def _strike(self) -> SimulatedMachine | None:
        """Cause a fault. Only a run with random faults schedules this event. Returns the node at
        which the fault happened; None if the fault happened at no node."""
        return None

    def _propose(self) -> SimulatedMachine | None:
        """Let a client append at a node whose role is leader. Returns this node; None if no node
        leads."""
        self.schedule.after(self.random.randrange(1, self.pause_ms), Propose())
        leaders = self.leaders()
        if not leaders:
            return None
        node = self.random.choice(leaders)
        host = node.running
        batches = self.layout.workload.batches(
            self.random,
            self.schedule.asked,
            host.machine,
            is_active=host.leader == LeaderAndEpoch(node.node_id, host.raft.role.epoch),
            is_idle=host.machine.next_offset == host.raft.log.log_end,
        )
        if batches:
            with suppress(NotLeaderError):
                self.append(node, batches, self.now)
        return node

    def _do(
        self, node: SimulatedMachine, action: Callable[[SimulatedHost, int], list[Effects]]
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
                self._shut_down(node)
        except (PowerLossError, FileSystemError):
            self.crash(node)
        if node.host is not None:
            self._plan(node, node.host)

    def _flush(self, node: SimulatedMachine, host: SimulatedHost, now: int) -> list[Effects]:
        """Flush at once, or begin a flush, or end a flush that has begun. Other events may happen
        between the beginning and the end of a flush, and the bytes may be durable early or late in
        this time."""
        if not node.syncs:
            return host.flush(now)
        if node.flush is None:
            node.flush = host.begin_flush()
            if node.flush is not None:
                node.flush_due = True
                takes, is_early = self._sync_takes(node)
                if is_early:
                    node.flush.run()
                self.schedule.after(takes, Flush(node.node_id, node.boots))
            return []
        begun, node.flush = node.flush, None
        begun.run()
        return host.end_flush(begun, now)

    def _sync_takes(self, node: SimulatedMachine) -> tuple[int, bool]:
        """(the duration of a sync in ms, whether the bytes are durable at the beginning of the sync
        and not only at the end)."""
        return max(node.syncs), False

    def _plan(self, node: SimulatedMachine, host: SimulatedHost) -> None:
        """Schedule what the replica has to do later: its flush, its replay, and the step at its
        deadline."""
        if host.owes_flush and not node.flush_due:
            node.flush_due = True
            delay = self.random.randrange(200 if node.is_slow else 3)
            self.schedule.after(delay, Flush(node.node_id, node.boots))
        if host.is_behind and not node.replay_due:
            node.replay_due = True
            self.schedule.after(self._replay_takes(), Replay(node.node_id, node.boots))
        at = max(self.now, node.due(host.raft.next_deadline()))
        if at != node.wake_at and at < 2**60:
            node.wake_at = at
            self.schedule.at(at, Wake(node.node_id, at))

    def _replay_takes(self) -> int:
        """The time (ms) from now until a due replay begins, or until a begun replay ends."""
        return 0

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
        """Let the sender of a request learn that the node is down, or at random learn nothing."""
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

    def _standing(self) -> str:
        ends = {i: n.host and n.host.machine.next_offset for i, n in self.nodes.items()}
        joining = [i for i, n in self.nodes.items() if n.host and n.host.raft.is_joining]
        waiting = f", {joining} still join" if joining else ""
        return f"{self.invariants.ledger.end} committed, replicas are at {ends}{waiting}"


def _replay(node: SimulatedMachine, host: SimulatedHost) -> list[Effects]:
    """Begin a replay, or end a replay that has begun. Returns the effects of the end; empty at the
    beginning. Other events may happen between the beginning and the end of a replay."""
    if node.replay is None:
        node.replay = host.begin_replay()
        return []
    begun, node.replay = node.replay, None
    begun.run()
    return host.end_replay(begun)
