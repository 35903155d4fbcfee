"""The nemesis: it causes faults and changes of voters, all of which a quorum has to survive.

At most one voter at a time has a wiped disk, because more wiped disks could lose committed records.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from replica.raft.inputs import Resign, Shutdown
from replica.raft.messages import AddVoterRequest, RemoveVoterRequest, UpdateFeaturesRequest
from replica.simulate.disk import DiskFaults
from replica.simulate.network import Network
from replica.simulate.node import MAX_DRIFT, SimulatedMachine
from replica.simulate.simulation import Simulation

Fault: TypeAlias = Callable[[Simulation, SimulatedMachine], None]
"""A function that causes one fault, at the given node or at other nodes."""


def drawn(random: Random, network: Network) -> tuple[Fault, ...]:
    """The faults that exist in a run. A fault that occurs twice in the result happens twice as
    often. In a quarter of the runs, by chance, all faults exist. In the other runs each fault
    exists or not, so that frequent crashes don't hide rare combinations (swarm testing: Groce et
    al., 2012).

    In these other runs each fault of `network` is also kept or switched off. In a third of these
    other runs, network partitions are healed less often. A partition then lasts longer than a
    leader may lead without a majority.
    """
    if random.random() < 0.25:
        return _ACTIONS
    there = {fault for fault in dict.fromkeys(_ACTIONS) if random.random() < 0.5}
    network.loss *= random.randrange(2)
    network.duplication *= random.randrange(2)
    network.straggling *= random.randrange(2)
    is_long = random.random() < 1 / 3
    return (
        *(fault for fault in _ACTIONS if fault in there and fault is not _heal),
        *(_heal,) * (1 if is_long else _ACTIONS.count(_heal)),
    )


def name_of(fault: Fault) -> str:
    return fault.__name__.lstrip("_")


def _crash(simulation: Simulation, node: SimulatedMachine) -> None:
    if node.host is not None:
        simulation.crash(node)


def _crash_soon(simulation: Simulation, node: SimulatedMachine) -> None:
    """Let the node lose power in a later call to its disk, or between two effects."""
    if simulation.random.random() < 0.5:
        node.disk.power_loss_in(simulation.random.randrange(30))
    elif node.host is not None:
        node.host.effects_left = simulation.random.randrange(20)


def _crash_all(simulation: Simulation, node: SimulatedMachine) -> None:
    """Cut the power of the whole site."""
    for each in simulation.nodes.values():
        _crash(simulation, each)


def _shut_down(simulation: Simulation, node: SimulatedMachine) -> None:
    simulation.step(node, Shutdown(simulation.random.randrange(100, 3000)))


def _resign(simulation: Simulation, node: SimulatedMachine) -> None:
    leader = simulation.leader()
    if leader is not None:
        simulation.step(leader, Resign(leader.running.raft.role.epoch))


def _isolate(simulation: Simulation, node: SimulatedMachine) -> None:
    simulation.network.isolate(simulation.random, list(simulation.nodes))


def _isolate_leader(simulation: Simulation, node: SimulatedMachine) -> None:
    leader = simulation.leader()
    if leader is not None:
        one_way = simulation.random.random() < 0.5
        simulation.network.split([leader.node_id], simulation.nodes, one_way=one_way)


def _heal(simulation: Simulation, node: SimulatedMachine) -> None:
    simulation.network.heal()


def _snapshot(simulation: Simulation, node: SimulatedMachine) -> None:
    simulation.snapshot(node)


def _slow(simulation: Simulation, node: SimulatedMachine) -> None:
    """Let the flushes of a node be slow from now on, or normal again."""
    node.is_slow = not node.is_slow


def _slow_disk(simulation: Simulation, node: SimulatedMachine) -> None:
    """Let calls to the disk stop the node for a while from now on, or no longer."""
    slow = node.disk.faults.call_ms == 0
    node.disk.faults.call_ms = simulation.random.uniform(1, 60) if slow else 0.0


def _fill(simulation: Simulation, node: SimulatedMachine) -> None:
    """Make the node's disk almost full, or unlimited again."""
    faults = node.disk.faults
    room = node.disk.used_bytes() + simulation.random.randrange(2000)
    faults.capacity_bytes = room if faults.capacity_bytes is None else None


def _fail_io(simulation: Simulation, node: SimulatedMachine) -> None:
    """Let some calls to the disk fail from now on, or no longer. A replica stops at the first
    failure."""
    faults = node.disk.faults
    is_sound = not (faults.write_error_rate or faults.sync_error_rate or faults.read_error_rate)
    rate = 0.02 if is_sound else 0.0
    node.disk.faults = DiskFaults(rate, rate, rate, faults.capacity_bytes, faults.call_ms)


def _skew(simulation: Simulation, node: SimulatedMachine) -> None:
    node.skew(simulation.now, simulation.random.randint(-MAX_DRIFT, MAX_DRIFT))


def _change_voters(simulation: Simulation, node: SimulatedMachine) -> None:
    """Ask the leader to add this node or to remove it. The node may be the leader itself. Nothing
    is asked if the node's disk was wiped and the node will remove its old directory itself."""
    leader = simulation.leader()
    if leader is None or not leader.running.raft.log.kraft_version:
        return
    voters, local = leader.running.raft.log.voters, node.local
    known, lost = voters.voter(node.node_id), _wiped_voters(simulation)
    if known is None:
        request = AddVoterRequest(voter=local.key, endpoints=local.endpoints, timeout_ms=3000)
        simulation.ask(leader, request)
    elif lost and simulation.layout.auto_joins:
        return
    elif len(voters) > 1 and lost in ([], [node.node_id]):
        simulation.ask(leader, RemoveVoterRequest(voter=known.key, timeout_ms=3000))


def _remove_leader(simulation: Simulation, node: SimulatedMachine) -> None:
    leader = simulation.leader()
    if leader is not None:
        _change_voters(simulation, leader)


def _upgrade(simulation: Simulation, node: SimulatedMachine) -> None:
    """Ask for kraft.version 1. Only a static quorum is changed by this."""
    leader = simulation.leader()
    if leader is not None:
        simulation.ask(leader, UpdateFeaturesRequest(kraft_version=1))


def _move(simulation: Simulation, node: SimulatedMachine) -> None:
    """Restart a node with another endpoint, so that its entry in the voter set has to be
    updated."""
    node.move()
    _crash(simulation, node)


def _wipe(simulation: Simulation, node: SimulatedMachine) -> None:
    """Wipe a node's disk, if all nodes run and agree on a voter set of three or more, and no
    voter's disk is wiped already."""
    running = [n.running.raft for n in simulation.nodes.values() if n.host is not None]
    sets = {raft.log.voters.keys for raft in running if len(raft.log.voters)}
    calm = len(running) == len(simulation.nodes) and len(sets) == 1
    if not calm or not running[0].log.kraft_version or _wiped_voters(simulation):
        return
    if all(len(keys) >= 3 for keys in sets):
        simulation.crash(node)
        node.wipe(simulation.random)


def _wiped_voters(simulation: Simulation) -> list[int]:
    """The ids of the nodes that a running replica's voter set names with a directory that was wiped
    since."""
    there = {node.local.key for node in simulation.nodes.values()}
    hosts = [node.host for node in simulation.nodes.values() if node.host is not None]
    keys = {key for host in hosts for key in host.raft.log.voters.keys if key.node_id}
    if any(not host.raft.log.kraft_version for host in hosts if len(host.raft.log.voters)):
        return []
    return sorted({key.node_id for key in keys - there})


_ACTIONS = (
    _crash, _crash, _crash_soon, _crash_soon, _crash_soon, _crash_all, _shut_down, _resign,
    _isolate, _isolate_leader, _heal, _heal, _heal, _heal,
    _snapshot, _snapshot, _snapshot, _snapshot, _snapshot,
    _slow, _slow_disk, _fill, _fill, _fail_io, _skew,
    _change_voters, _change_voters, _change_voters, _remove_leader, _upgrade, _move, _wipe,
)  # fmt: skip

FAULTS = tuple(dict.fromkeys(name_of(fault) for fault in _ACTIONS))
"""The names of all faults."""
