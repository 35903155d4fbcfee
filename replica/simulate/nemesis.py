"""What goes wrong, and who changes the voters; never more than the quorum has to survive.

Of the voters at most one has a wiped disk at a time: more may lose what was committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.raft.messages import AddVoterRequest, RemoveVoterRequest
from replica.simulate.disk import DiskFaults
from replica.simulate.node import Node

if TYPE_CHECKING:
    from replica.simulate.simulation import Simulation


def strike(simulation: Simulation) -> None:
    """One random fault, or the end of some."""
    random = simulation.random
    node = random.choice(list(simulation.nodes.values()))
    action = random.choice(_ACTIONS)
    action(simulation, node)


def _crash(simulation: Simulation, node: Node) -> None:
    if node.host is not None:
        simulation.crash(node)


def _crash_soon(simulation: Simulation, node: Node) -> None:
    """In some call to the disk, or between two effects."""
    if simulation.random.random() < 0.5:
        node.disk.power_loss_in(simulation.random.randrange(30))
    elif node.host is not None:
        node.host.effects_left = simulation.random.randrange(20)


def _isolate(simulation: Simulation, node: Node) -> None:
    simulation.network.isolate(simulation.random, list(simulation.nodes))


def _heal(simulation: Simulation, node: Node) -> None:
    simulation.network.heal()


def _snapshot(simulation: Simulation, node: Node) -> None:
    simulation.do(node, "snapshot")
    simulation.do(node, "clean")


def _slow(simulation: Simulation, node: Node) -> None:
    node.is_slow = not node.is_slow


def _fill(simulation: Simulation, node: Node) -> None:
    """The disk takes a little more, or is emptied of what isn't ours."""
    full = node.disk.faults.capacity_bytes is None
    room = node.disk.used_bytes() + simulation.random.randrange(2000)
    node.disk.faults = DiskFaults(capacity_bytes=room if full else None)


def _fail_io(simulation: Simulation, node: Node) -> None:
    """Calls to the disk fail now and then, or no longer; a replica stops at the first."""
    rates = node.disk.faults
    is_sound = not (rates.write_error_rate or rates.sync_error_rate or rates.read_error_rate)
    rate = 0.02 if is_sound else 0.0
    node.disk.faults = DiskFaults(rate, rate, rate)


def _change_voters(simulation: Simulation, node: Node) -> None:
    leader = simulation.leader()
    if leader is None or not leader.running.raft.log.kraft_version or node.config.local is None:
        return
    voters, local = leader.running.raft.log.voters, node.config.local
    known, lost = voters.voter(node.node_id), _lost(simulation)
    if known is None:
        request = AddVoterRequest(voter=local.key, endpoints=local.endpoints, timeout_ms=3000)
        simulation.ask(leader, request)
    elif len(voters) > 2 and lost in ([], [node.node_id]):
        simulation.ask(leader, RemoveVoterRequest(voter=known.key, timeout_ms=3000))


def _wipe(simulation: Simulation, node: Node) -> None:
    """Where the others of every set that may be in force still are a majority, in calm."""
    running = [n.running.raft for n in simulation.nodes.values() if n.host is not None]
    sets = {raft.log.voters.keys for raft in running if len(raft.log.voters)}
    calm = len(running) == len(simulation.nodes) and len(sets) == 1
    if not calm or not running[0].log.kraft_version or _lost(simulation):
        return
    if all(len(keys) >= 3 for keys in sets):
        simulation.crash(node)
        node.wipe(simulation.random)


def _lost(simulation: Simulation) -> list[int]:
    """Voters, by any running replica's set, whose disk is gone."""
    there = {n.config.local.key for n in simulation.nodes.values() if n.config.local}
    hosts = [node.host for node in simulation.nodes.values() if node.host is not None]
    keys = {key for host in hosts for key in host.raft.log.voters.keys if key.node_id}
    if any(not host.raft.log.kraft_version for host in hosts if len(host.raft.log.voters)):
        return []
    return sorted({key.node_id for key in keys - there})


_ACTIONS = (
    *(_crash, _crash_soon, _crash_soon, _fail_io, _isolate, _heal, _heal, _heal),
    *(_snapshot, _snapshot, _snapshot, _slow, _fill, _fill, _change_voters, _change_voters, _wipe),
)
