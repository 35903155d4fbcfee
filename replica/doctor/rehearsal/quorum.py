"""One run of a captured quorum: its disks in memory, kraftlake's engine (the Raft core and its
host) on them, and a network between them.

The seed decides when each node starts, how long messages take, how clocks drift, and the engine's
random timeouts. Only the steps cause faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from replica.doctor.rehearsal.captured import CapturedQuorum, endpoints_of
from replica.doctor.rehearsal.step import ScenarioStep, StandIn
from replica.doctor.rehearsal.watch import NoClients, RehearsalWatch
from replica.errors import KraftlakeError
from replica.format.file_names import METADATA_FOLDER
from replica.format.meta_properties import FILE_NAME as META_PROPERTIES
from replica.format.quorum_state import FILE_NAME as QUORUM_STATE
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Voter
from replica.raft.config import Config
from replica.raft.effects import Effects
from replica.raft.inputs import Input, Response
from replica.raft.messages import AddVoterRequest, PeerRequest, PeerResponse, RemoveVoterRequest
from replica.raft.roles import Leader
from replica.raft.transitions import Role
from replica.simulate.broken import BrokenInvariantError
from replica.simulate.host import HOME, SimulatedHost
from replica.simulate.metadata_records import uuid_of
from replica.simulate.node import MAX_DRIFT, Layout, SimulatedMachine, key_of, new_disk
from replica.simulate.node_files import Files, files_on, identify, put_files
from replica.simulate.schedule import Start
from replica.simulate.simulation import Simulation
from replica.storage.segment import LogConfig

_OF_THIS_EPOCH = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
"""The errors with which Kafka reads the leader from an answer, even if the answer's epoch isn't
newer than its own."""


def ends_kafka(role: Role, local_id: int, answer: PeerResponse) -> bool:
    """Whether this answer ends Kafka's process of node `local_id`, although the engine continues.

    Answers name leaders only by node id. So a node whose disk was emptied, or restored from an
    older copy, may get an answer that names the node as leader of an epoch that its disk doesn't
    know. Kafka treats this answer as an internal error (KafkaRaftClient.maybeTransition, seen in
    4.4.0: "Received request or response with leader ... which is inconsistent with current
    leader").
    """
    if answer.leader_id != local_id or isinstance(role, Leader):
        return False
    if answer.epoch < role.epoch or answer.error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        return False
    is_adopted = answer.epoch > role.epoch or answer.error in _OF_THIS_EPOCH
    return is_adopted or role.leader_id == NO_NODE


def reason_down(node_id: int, epoch: int) -> str:
    """The reason why the node doesn't run, as a sentence without a full stop."""
    return (
        f"Kafka ends its process, as another node names node {node_id} as the leader of epoch "
        f"{epoch}, of which the disk of node {node_id} knows nothing: start it again once the "
        "others have a newer epoch"
    )


PATIENCE_MS = 30_000
"""The simulated time (ms) after which a step ends although the quorum has not settled. It is enough
for more than ten elections with Kafka's default timeouts."""
STILL_MS = 7_000
"""A step ends once nothing has changed for this simulated time (ms): then nothing changes any more,
for example because no node that runs is a voter, or because the leader never continues a follower's
log. The time is longer than the engine's longest timer with Kafka's defaults, that of UpdateVoter
(6 s)."""
_COMPARED_EVERY_MS = 100
START_WITHIN_MS = 5_000
"""A step starts its nodes at random times within this time (ms)."""
ASK_AGAIN_MS = 2_000
"""The time (ms) after which an administrator repeats a request for other voters that had no
effect."""


Standing = tuple[type[object] | None, int, int, int, int | None]
"""(role, epoch, log start, log end (exclusive), high watermark) of a node that runs. The role is
None while a change of it doesn't count."""


class RehearsedQuorum:
    """A captured quorum that is run. At first no node runs.

    failed: the reasons why replicas could not go on, by node id.
    refused: the reasons why nodes were not added to or removed from the voters, by node id.
    replaced: how often each node's disk was replaced, by node id.
    """

    def __init__(self, captured: CapturedQuorum, seed: int) -> None:
        self.captured = captured
        self.failed: dict[int, str] = {}
        self.simulation = _Run(seed, self._nodes, self.failed)
        ends = {node_id: node.log.end_offset for node_id, node in captured.nodes.items()}
        self.watch = RehearsalWatch({**dict.fromkeys(captured.node_ids, 0), **ends})
        self.simulation.invariants = self.watch
        self.refused: dict[int, str] = {}
        self.replaced: dict[int, int] = {}
        self._is_first = True
        self._starting_until = 0
        self._standing: tuple[Standing | None, ...] = ()
        self._standing_since = self._compared_at = 0

    def play(self, step: ScenarioStep) -> None:
        """Carry out a step, and let the quorum run until it changes no more or the step's time is
        over."""
        if step.heal:
            self.simulation.network.heal()
        for a, b in step.cut:
            self.simulation.network.split([a], [b])
        for node_id in (*step.dead, *step.replaced):
            self._power_off(node_id)
        for node_id in step.empty:
            self._format(node_id)
        for stand_in in step.stand_ins:
            self._stand_in(stand_in)
        self._start(self._started_by(step))
        patience = PATIENCE_MS if step.wait_ms is None else step.wait_ms
        if step.remove_voter is not None or step.add_voter is not None:
            self._wait(PATIENCE_MS)
            self._change_voters(step)
        self._wait(patience)

    def leader(self) -> SimulatedHost | None:
        """The leader of the newest epoch, if it has committed a record of that epoch: then a
        majority follows it. None without such a leader."""
        node = self.simulation.leader()
        if node is None or node.running.raft.high_watermark is None:
            return None
        return node.running

    def files(self) -> dict[int, Files]:
        """The files on all disks now."""
        nodes = self.simulation.nodes
        with_disk = {*self.captured.nodes, *self.replaced}
        return {node_id: files_on(nodes[node_id]) for node_id in sorted(with_disk)}

    def has_settled(self) -> bool:
        """Whether a leader has committed its whole log, and all running nodes that it reaches have
        the same log on their disks."""
        leader = self._leader_at_its_end()
        if leader is None:
            return False
        epoch, end = leader.raft.role.epoch, leader.raft.log.position
        # A log of the leader's length may still end in another epoch: then its node truncates again
        return all(
            host.raft.role.epoch == epoch and host.raft.log.position == end and not host.owes_flush
            for host in self._reached(key_of(leader).node_id)
        )

    def _leader_at_its_end(self) -> SimulatedHost | None:
        """The leader, once all nodes have started and it has committed its whole log; None before
        that."""
        if self.simulation.schedule.now <= self._starting_until:
            return None
        leader = self.leader()
        if leader is None or leader.raft.high_watermark != leader.log.log_end:
            return None
        return leader

    def _is_over(self) -> bool:
        """Whether the quorum has settled, or nothing changes any more."""
        return self.has_settled() or self._stands_still()

    def _stands_still(self) -> bool:
        now = self.simulation.now
        if now < max(self._compared_at + _COMPARED_EVERY_MS, self._starting_until):
            return False
        self._compared_at = now
        standing = self._stand()
        if standing != self._standing:
            self._standing, self._standing_since = standing, now
        return now - self._standing_since > STILL_MS

    def _stand(self) -> tuple[Standing | None, ...]:
        """The standing of each node; None for a node that doesn't run. Once the leader has
        committed its whole log, changed roles don't count. Before that, a candidate may still win
        an election."""
        is_led = self._leader_at_its_end() is not None
        hosts = (node.host for node in self.simulation.nodes.values())
        return tuple(None if host is None else _standing(host, is_led=is_led) for host in hosts)

    def _reached(self, leader_id: int) -> Iterator[SimulatedHost]:
        cut = self.simulation.network.cut
        for node_id, node in self.simulation.nodes.items():
            links = {(leader_id, node_id), (node_id, leader_id)}
            if node.host is not None and not links & cut:
                yield node.host

    def _wait(self, patience_ms: int, is_reached: Callable[[], bool] | None = None) -> bool:
        """Wait until `is_reached` holds, or without it until nothing changes any more. Returns
        whether this happened within the simulated time `patience_ms`."""
        self._standing_since = self.simulation.now
        try:
            self.simulation.run_until(is_reached or self._is_over, patience_ms)
        except BrokenInvariantError:  # the time is over
            return False
        return True

    def _started_by(self, step: ScenarioStep) -> set[int]:
        is_first, self._is_first = self._is_first, False
        if step.start is not None:
            for node_id in self.simulation.ended & set(step.start):
                del self.failed[node_id]
            self.simulation.ended -= set(step.start)
            return set(step.start)
        with_disk = {*step.replaced, *(self.captured.nodes if is_first else ())}
        return with_disk - set(step.dead)

    def _start(self, node_ids: set[int]) -> None:
        """Start the nodes among `node_ids` that don't run and haven't failed."""
        simulation = self.simulation
        self._starting_until = simulation.now
        for node_id in sorted(node_ids - self.failed.keys()):
            if simulation.nodes[node_id].host is None:
                delay = simulation.random.randrange(1, START_WITHIN_MS)
                simulation.schedule.after(delay, Start(node_id))
                self._starting_until = max(self._starting_until, simulation.now + delay)

    def _power_off(self, node_id: int) -> None:
        node = self.simulation.nodes[node_id]
        if node.host is not None:
            self.simulation.kill(node)

    def _format(self, node_id: int) -> None:
        """Give a node an empty disk with a new directory id, as kafka-storage format does."""
        number = self.replaced.get(node_id, 0) + 1
        name = f"disk {number} of node {node_id} of {self.captured.cluster_id}"
        self._replace_disk(ReplicaKey(node_id, uuid_of(name)), {}, 0)

    def _stand_in(self, stand_in: StandIn) -> None:
        source = self.captured.nodes[stand_in.source]
        files = {**source.files, f"{METADATA_FOLDER}/{QUORUM_STATE}": stand_in.quorum_state}
        files.pop(META_PROPERTIES, None)
        self._replace_disk(stand_in.key, files, source.log.end_offset)

    def _replace_disk(self, key: ReplicaKey, files: Files, end: int) -> None:
        """Give the node of `key` another disk, with these files and a meta.properties that names
        `key`. end: the end (exclusive) of the log in the files."""
        node_id = key.node_id
        node = self.simulation.nodes[node_id]
        node.disk = new_disk(self.simulation.random)
        node.config = replace(node.config, local=replace(node.local, key=key))
        put_files(node.disk, files)
        identify(node)
        self.failed.pop(node_id, None)
        self.simulation.ended.discard(node_id)
        self.replaced[node_id] = self.replaced.get(node_id, 0) + 1
        self.watch.kept[node_id] = end
        self.watch.replaced.pop(node_id, None)

    def _change_voters(self, step: ScenarioStep) -> None:
        """Ask the leader for the step's changes of voters, and wait for them. A change that isn't
        made is noted in `refused`."""
        if step.remove_voter is not None:
            self._ask(step.remove_voter, "removed from", is_voter=False)
        if step.add_voter is not None:
            self._ask(step.add_voter, "added to", is_voter=True)

    def _ask(self, node_id: int, what: str, *, is_voter: bool) -> None:
        """Request one change, as an administrator does. The request is repeated while the leader
        refuses it, for example because the new voter lags behind."""
        until = self.simulation.now + PATIENCE_MS
        while self.simulation.now < until:
            leader = self.simulation.leader()
            if leader is not None:
                self.simulation.ask(leader, self._request(leader, node_id, is_voter=is_voter))
            if self._wait(ASK_AGAIN_MS, lambda: self._has_changed(node_id, is_voter=is_voter)):
                return
        self.refused[node_id] = f"it was not {what} the voters"

    def _request(self, leader: SimulatedMachine, node_id: int, *, is_voter: bool) -> PeerRequest:
        local = self.simulation.nodes[node_id].local
        if is_voter:
            return AddVoterRequest(voter=local.key, endpoints=local.endpoints)
        known = leader.running.raft.log.voters.voter(node_id) or local
        return RemoveVoterRequest(voter=known.key)

    def _has_changed(self, node_id: int, *, is_voter: bool) -> bool:
        """Whether the change is committed. For is_voter, the leader's committed voter set has to
        name the node's disk; otherwise it must not name the node."""
        leader = self.leader()
        if leader is None or not self.has_settled():
            return False
        voters = leader.raft.log.voters
        if not is_voter:
            return voters.voter(node_id) is None
        return voters.is_voter(self.simulation.nodes[node_id].local.key)

    def _nodes(self, random: Random) -> dict[int, SimulatedMachine]:
        return {node_id: self._node(node_id, random) for node_id in self.captured.node_ids}

    def _node(self, node_id: int, random: Random) -> SimulatedMachine:
        captured, node = self.captured, self.captured.nodes.get(node_id)
        known = captured.voters.voter(node_id)
        local = known or Voter(ReplicaKey(node_id))
        key = local.key if node is None else node.key
        local = replace(local, key=key, endpoints=local.endpoints or endpoints_of(key))
        config = Config(
            captured.cluster_id,
            local,
            static_voters=captured.static_voters,
            bootstrap_ids=tuple(-10 - voter_id for voter_id in captured.voters.ids),
            removed_voter_stands=False,
        )
        disk = new_disk(random)
        put_files(disk, {} if node is None else node.files)
        offset = captured.newest_timestamp + 1 + random.randrange(1000)
        drift = random.randint(-MAX_DRIFT, MAX_DRIFT)
        workload = NoClients()
        return SimulatedMachine(
            node_id, disk, config, workload, offset, drift, log_config=LogConfig()
        )


def _standing(host: SimulatedHost, *, is_led: bool) -> Standing:
    role, log = host.raft.role, host.log
    kind = None if is_led else type(role)
    return kind, role.epoch, log.log_start, log.log_end, host.raft.high_watermark


class _Run(Simulation):
    """A run in which a node whose replica can't go on stays down. failed: receives the reasons, by
    node id. ended: the nodes whose process of Kafka would end here; they may be started again."""

    def __init__(
        self,
        seed: int,
        nodes: Callable[[Random], dict[int, SimulatedMachine]],
        failed: dict[int, str],
    ) -> None:
        self._failed = failed
        self.ended: set[int] = set()
        super().__init__(seed, Layout(workload=NoClients()), nodes=nodes)

    def step(self, node: SimulatedMachine, event: Input) -> None:
        """Give a replica an input. If the input would end Kafka's process, the node stops too,
        although the engine could continue."""
        if node.host is not None and isinstance(event, Response):
            answer = event.message
            if ends_kafka(node.host.raft.role, node.node_id, answer):
                self._failed[node.node_id] = reason_down(node.node_id, answer.epoch)
                self.ended.add(node.node_id)
                node.host.log.close()
                node.host = None
                return
        super().step(node, event)

    def _post(self, sender: int, receiver: int, boot: int, message: Input) -> None:
        """Send a message. A message to a node without a captured directory is lost: an older log
        may name voters that the newest log doesn't name."""
        if receiver in self.nodes:
            super()._post(sender, receiver, boot, message)

    def _start(self, node: SimulatedMachine) -> None:
        try:
            super()._start(node)
        except KraftlakeError as error:
            self._fail(node, error)

    def _do(
        self, node: SimulatedMachine, action: Callable[[SimulatedHost, int], list[Effects]]
    ) -> None:
        try:
            super()._do(node, action)
        except KraftlakeError as error:
            self._fail(node, error)

    def _fail(self, node: SimulatedMachine, error: KraftlakeError) -> None:
        self._failed[node.node_id] = str(error).replace(f"{HOME}/", "")
        self.kill(node)
