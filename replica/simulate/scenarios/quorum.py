"""A quorum whose faults a script chooses, on the simulator's nodes, disks and network. The quorum's
log holds metadata records. There are no random events, and only the replicas act by themselves."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from random import Random

from replica.format.frames import frames
from replica.metadata.codec import encode
from replica.raft import inputs
from replica.raft.effects import Effects
from replica.raft.messages import AddVoterRequest, RemoveVoterRequest
from replica.raft.ports import StateMachine
from replica.raft.roles import Leader
from replica.simulate import metadata_records
from replica.simulate.disk import SimulatedDisk
from replica.simulate.host import SimulatedHost
from replica.simulate.invariants import Invariants
from replica.simulate.metadata_records import Records, uuid_of
from replica.simulate.node import QUORUM_CHARACTERS, Layout, SimulatedMachine
from replica.simulate.node_files import Files, files_on, identify
from replica.simulate.simulation import Simulation
from replica.simulate.workload import MetadataWorkload, Values

START_MS = 1_767_225_600_000
"""The time of all clocks at the beginning, in ms since 1970: 2026-01-01T00:00:00Z."""
PATIENCE_MS = 120_000
"""The longest time that a script waits, in simulated ms."""
_KEEP_ALL = {"retention_bytes": -1, "retention_ms": -1}


@dataclass(frozen=True, slots=True)
class Capture:
    """The files on all disks at one time.

    captured_at_ms: this time, in ms since 1970 (UTC).
    files: the files of each node, by node id.
    """

    cluster_id: str
    captured_at_ms: int
    files: dict[int, Files]


class _Scripted(MetadataWorkload):
    """A workload without appends: only the script appends."""

    def batches(
        self, random: Random, number: int, machine: StateMachine, *, is_active: bool, is_idle: bool
    ) -> tuple[Values, ...]:
        return ()


class Unwatched(Invariants):
    """Checks no invariants. This class is for scenarios that break invariants, for example by wiped
    voters."""

    def opened(self, host: SimulatedHost) -> None:
        pass

    def stepped(self, host: SimulatedHost, effects: Effects) -> None:
        pass


class ScriptedQuorum:
    """A quorum. At first all nodes run, and there is no leader. Nodes 1 to n are voters, and the
    other nodes are observers (brokers).

    name: the name of the scenario, from which the cluster id and the directory ids are made.
    invariants: the class that checks every step.

    A method that waits raises BrokenInvariantError (liveness) after PATIENCE_MS: then the script or
    the engine is wrong.
    """

    def __init__(
        self, name: str, layout: Layout, *, invariants: type[Invariants] = Invariants
    ) -> None:
        self.cluster_id = uuid_of(f"cluster of {name}")
        quorum = self.cluster_id[:QUORUM_CHARACTERS]
        self.layout = replace(layout, workload=_Scripted(), quorum=quorum)
        self.simulation = Simulation(zlib.crc32(name.encode()), self.layout, invariants=invariants)
        for node in self.nodes.values():
            node.offset_ms, node.drift = START_MS, 0
            self.configure(node.node_id, cluster_id=self.cluster_id, **_KEEP_ALL)
            identify(node)
        self.run_ms(1)

    @property
    def nodes(self) -> dict[int, SimulatedMachine]:
        return self.simulation.nodes

    @property
    def voters(self) -> tuple[int, ...]:
        """The voters at the beginning."""
        return tuple(range(1, self.layout.voters + 1))

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(node_id for node_id in self.nodes if node_id not in self.voters)

    def log_end(self, node_id: int) -> int:
        """The node's log end (exclusive)."""
        return self._running(node_id).raft.log.log_end

    def configure(self, node_id: int, **changes: object) -> None:
        """Set fields of the node's raft.Config, from its next start on."""
        node = self.nodes[node_id]
        node.config = replace(node.config, **changes)  # type: ignore[arg-type]

    # clients and administrators

    def append(self, node_id: int, batch: Records) -> int:
        """Have a leader append a batch, without waiting. Returns the batch's base offset.

        Raises NotLeaderError if the node doesn't lead, and RecordBatchTooLargeError if the batch is
        too large.
        """
        base, node = self.log_end(node_id), self.nodes[node_id]
        values = tuple(encode(record) for record in batch)
        self.simulation.append(node, [values], node.clock(self.simulation.now))
        return base

    def commit(self, node_id: int, *batches: Records) -> int:
        """Have a leader append batches, and wait until the batches are committed. Returns the log
        end (exclusive)."""
        for batch in batches:
            self.append(node_id, batch)
            self.run_ms(7)
        end = self.log_end(node_id)
        self.run_until(lambda: (self._running(node_id).raft.high_watermark or 0) >= end)
        return end

    def populate(self, node_id: int, *topics: str) -> None:
        """Have the leader of a new cluster write features, registrations and topics."""
        self.commit(
            node_id, metadata_records.bootstrap(), metadata_records.controllers(self.voters)
        )
        for broker_id in self.brokers:
            epoch = self.log_end(node_id)
            self.commit(node_id, metadata_records.register_broker(broker_id, epoch))
            self.commit(node_id, metadata_records.unfence_broker(broker_id, epoch))
        for topic in topics:
            self.commit(node_id, metadata_records.create_topic(topic, self.brokers))

    def begin(self, *topics: str) -> None:
        """Elect node 1, populate the new cluster, and wait until all nodes have the records of node
        1."""
        self.elect(1)
        self.populate(1, *topics)
        self.settle()

    def add_voter(self, leader_id: int, node_id: int) -> None:
        """Ask a leader to add a voter, and wait for the commit (KIP-853)."""
        local = self.nodes[node_id].local
        self._change_voters(leader_id, AddVoterRequest(voter=local.key, endpoints=local.endpoints))

    def remove_voter(self, leader_id: int, node_id: int) -> None:
        """Ask a leader to remove a voter, which may be the leader, and wait for the commit."""
        self._change_voters(leader_id, RemoveVoterRequest(voter=self.nodes[node_id].local.key))

    # replicas

    def elect(self, node_id: int) -> int:
        """Wait until this node leads a new epoch. Returns the epoch.

        While this method waits, the requests of other nodes get lost, but not their responses, so
        no other node is elected. A former leader must be down, cut off or resigned, and the node
        must reach a majority.
        """
        network = self.simulation.network
        before = self._running(node_id).raft.role.epoch
        others = [other for other in self.nodes if other != node_id]
        network.cut_requests.update((a, b) for a in others for b in self.nodes)
        self.run_until(lambda: self._leads(node_id) and self._epoch(node_id) > before)
        network.cut_requests.clear()
        return self._epoch(node_id)

    def resign(self, node_id: int) -> None:
        """Have the leader resign, as after a failure of its controller."""
        self.simulation.step(self.nodes[node_id], inputs.Resign(self._epoch(node_id)))

    def snapshot(self, *node_ids: int) -> None:
        """Let nodes write snapshots of what they have applied, and clean their logs as
        configured."""
        for node_id in node_ids:
            self.simulation.snapshot(self.nodes[node_id])

    # time and faults

    def run_ms(self, duration_ms: int) -> None:
        """Let simulated time pass."""
        end = self.simulation.now + duration_ms
        self.simulation.run_until(lambda: self.simulation.now >= end, duration_ms + PATIENCE_MS)

    def run_until(self, is_reached: Callable[[], bool]) -> None:
        self.simulation.run_until(is_reached, PATIENCE_MS)

    def settle(self, *node_ids: int, leader: int | None = None) -> None:
        """Wait until these nodes, by default all running nodes, have flushed the leader's whole log
        and know that the whole log is committed. leader: None for the leader of the newest
        epoch."""
        chosen = node_ids or tuple(node_id for node_id in self.nodes if self.nodes[node_id].host)
        self.run_until(lambda: self._has_settled(chosen, leader))

    def cut(self, side: Iterable[int]) -> None:
        """Let no message pass between these nodes and all other nodes from now on."""
        inside = set(side)
        self.simulation.network.split(inside, set(self.nodes) - inside)

    def lose_requests(self, node_ids: Iterable[int]) -> None:
        """Let the requests of these nodes get lost until `heal` or `elect`."""
        links = {(a, b) for a in node_ids for b in self.nodes}
        self.simulation.network.cut_requests.update(links)

    def heal(self) -> None:
        self.simulation.network.heal()

    def crash(self, *node_ids: int) -> None:
        """Cut the power of these nodes. Unsynced writes may be lost."""
        for node_id in node_ids:
            self.simulation.kill(self.nodes[node_id])

    def restart(self, node_id: int, **changes: object) -> None:
        """Cut a node's power, set fields of its raft.Config, and start the node."""
        self.crash(node_id)
        self.configure(node_id, **changes)
        self.start(node_id)

    def start(self, *node_ids: int) -> None:
        """Restore power, and wait until the replicas have recovered."""
        for node_id in node_ids:
            self.simulation.start(self.nodes[node_id])
        self.run_until(lambda: all(self.nodes[node_id].host for node_id in node_ids))

    def wipe(self, node_id: int) -> None:
        """Give a node that is down an empty disk, formatted with another directory id."""
        node = self.nodes[node_id]
        node.wipe(self.simulation.random)
        identify(node)

    def disk_image(self, node_id: int) -> SimulatedDisk:
        """A copy of the disk of a node that is down, for `restore`."""
        assert self.nodes[node_id].host is None, "a running node's disk changes under the copy"
        return deepcopy(self.nodes[node_id].disk)

    def restore(self, node_id: int, image: SimulatedDisk) -> None:
        """Give a node that is down an older copy of its disk, without its later votes and
        epochs."""
        assert self.nodes[node_id].host is None, "a running node's disk stays"
        self.nodes[node_id].disk = image

    def has_torn_tail(self, node_id: int) -> bool:
        """Whether the newest segment of a node ends inside a batch."""
        files = files_on(self.nodes[node_id])
        newest = files[max(path for path in files if path.endswith(".log"))]
        whole = [frame.size for frame in frames(newest, start=0, expected_offset=None)]
        return sum(whole) < len(newest)

    def capture(self) -> Capture:
        """The files on all disks now, including bytes that are written but not yet synced."""
        now = START_MS + self.simulation.now
        files = {node_id: files_on(node) for node_id, node in self.nodes.items()}
        return Capture(self.cluster_id, now, files)

    def _change_voters(self, leader_id: int, request: AddVoterRequest | RemoveVoterRequest) -> None:
        before = self._running(leader_id).raft.log.voters_offset
        self.simulation.ask(self.nodes[leader_id], request)
        self.run_until(lambda: self._voters_offset(leader_id) not in (before, None))
        offset = self._voters_offset(leader_id)
        assert offset is not None
        self.run_until(lambda: (self._running(leader_id).raft.high_watermark or 0) > offset)

    def _voters_offset(self, node_id: int) -> int | None:
        return self._running(node_id).raft.log.voters_offset

    def _running(self, node_id: int) -> SimulatedHost:
        return self.nodes[node_id].running

    def _leads(self, node_id: int) -> bool:
        host = self.nodes[node_id].host
        return host is not None and isinstance(host.raft.role, Leader)

    def _epoch(self, node_id: int) -> int:
        return self._running(node_id).raft.role.epoch

    def _has_settled(self, node_ids: Iterable[int], leader_id: int | None) -> bool:
        leader = self.simulation.leader() if leader_id is None else self.nodes[leader_id]
        if leader is None:
            return False
        end = leader.running.raft.log.position
        hosts = [leader.running, *(self._running(node_id) for node_id in node_ids)]
        return all(
            host.machine.next_offset == end.offset
            and host.raft.log.position == end
            and not host.owes_flush
            for host in hosts
        )
