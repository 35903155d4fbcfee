"""A voter whose log has just begun at a snapshot, and a voter whose log ends below that snapshot.
The second asks the first for its vote. At random this happens in one of some fifty runs."""

from random import Random

from replica.model.epochs import OffsetAndEpoch
from replica.simulate.invariants import Invariants
from replica.simulate.node import Layout
from replica.simulate.simulation import Simulation

WITHIN_MS = 60_000


def by_records_alone(self):
    """A LogState.position that leaves out the snapshots."""
    return OffsetAndEpoch(self.log_end, self.epochs[-1].epoch if self.epochs else 0)


def ask_across_a_snapshot(invariants: type[Invariants] = Invariants) -> None:
    """Runs this with three static voters. The first voter is cut off early, the second gets an
    empty disk and the leader's snapshot, and then the leader goes down."""
    simulation = Simulation(1, Layout(is_static=True), invariants=invariants)
    nodes = simulation.nodes

    def has_applied(node, end):
        return node is not None and node.host and node.host.machine.next_offset >= end

    simulation.run_until(lambda: all(has_applied(n, 5) for n in nodes.values()), WITHIN_MS)
    leader = simulation.leader()
    behind, restarted = (node for node in nodes.values() if node is not leader)
    simulation.network.split([behind.node_id], nodes)
    reached = simulation.invariants.ledger.end + 5
    simulation.run_until(lambda: has_applied(leader, reached), WITHIN_MS)
    simulation.pause_ms, until = 10**9, simulation.now + 1000  # no client appends from now on
    simulation.run_until(lambda: simulation.now > until, WITHIN_MS)
    simulation.kill(restarted)
    restarted.wipe(Random(1))
    simulation.snapshot(leader)
    simulation.start(restarted)
    simulation.run_until(lambda: has_applied(restarted, reached), WITHIN_MS)
    assert not restarted.running.raft.log.epochs, "it has the snapshot alone"
    simulation.kill(leader)
    simulation.network.heal()
    simulation.run_until(simulation.leader, WITHIN_MS)
    assert simulation.leader() is restarted
