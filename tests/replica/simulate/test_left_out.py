"""A voter that was away finds its way back into the quorum, even where all voters were replaced
meanwhile: no node is left out for ever. Every invariant is checked after every event."""

from dataclasses import replace

import pytest

from replica.model.keys import NO_NODE
from replica.model.stored import ElectionState
from replica.raft import election
from replica.raft.config import FOREVER
from replica.raft.messages import AddVoterRequest, RemoveVoterRequest
from replica.simulate import faulty_run, nemesis
from replica.simulate.broken import BrokenInvariantError
from replica.simulate.host import FOLDER
from replica.simulate.node import Layout
from replica.simulate.simulation import Simulation
from replica.storage.quorum_state_file import QuorumStateFile
from tests.replica.simulate.finding import found

WITHIN_MS = 60_000


class Replaced:
    """A quorum whose voters 1 to 3 were all replaced by the observers 4 to 6 while one of them was
    cut off. epoch: that voter's epoch, in which it stood in an election of which nobody heard; it
    is newer than the quorum's by `ahead`."""

    def __init__(self, ahead):
        self.simulation = Simulation(1, Layout(3, 3))
        self.nodes = self.simulation.nodes
        self.wait_until(lambda: self.everybody_has(10))
        self.away = next(n for n in self.nodes.values() if n is not self.simulation.leader())
        self.cut_off(ahead)
        for node_id in (4, 5, 6):
            self.change_to({*self.voters(), node_id})
        for node_id in (1, 2, 3):
            self.change_to({*self.voters()} - {node_id})

    def wait_until(self, is_reached, within_ms=WITHIN_MS):
        self.simulation.run_until(is_reached, within_ms)

    def voters(self):
        return self.simulation.leader().running.raft.log.voters.ids

    def everybody_has(self, end, but=()):
        nodes = [node for node in self.nodes.values() if node not in but]
        return all(node.host and node.running.machine.next_offset >= end for node in nodes)

    def cut_off(self, ahead):
        away = self.away
        self.epoch = self.simulation.leader().running.raft.role.epoch + ahead
        self.simulation.network.split([away.node_id], self.nodes)
        self.simulation.kill(away)
        away.disk.restart()
        store = QuorumStateFile(away.disk, FOLDER)
        store.write(ElectionState(self.epoch, voted=away.local.key))
        self.simulation.start(away)

    def change_to(self, voters):
        """Add or remove one voter, and wait until all replicas but one know that it is done."""
        (changed,) = {*voters} ^ {*self.voters()}
        local = self.nodes[changed].local
        if changed in voters:
            request = AddVoterRequest(voter=local.key, endpoints=local.endpoints)
        else:
            request = RemoveVoterRequest(voter=local.key)

        def is_done():
            leader = self.simulation.leader()
            if leader is None or {*leader.running.raft.log.voters.ids} != voters:
                return False
            written = leader.running.raft.log.voters_offset
            return self.everybody_has(written + 1, but=[self.away])

        self.simulation.ask(self.simulation.leader(), request)
        self.wait_until(is_done)

    def come_back(self, gone=(), within_ms=WITHIN_MS):
        """Let the network be whole again, and wait until all but those that are gone have what is
        committed from then on."""
        self.simulation.network.heal()
        end = self.simulation.invariants.ledger.end + 10
        self.wait_until(lambda: self.everybody_has(end, but=gone), within_ms)


@pytest.mark.parametrize("ahead", [1, 6])
def test_a_voter_of_a_newer_epoch_comes_back_after_all_voters_were_replaced(ahead):
    quorum = Replaced(ahead)
    quorum.come_back()
    assert quorum.away.running.raft.log.voters.ids == (4, 5, 6)
    leader = quorum.simulation.leader()
    assert leader.running.raft.role.epoch == quorum.epoch + 1, "it costs one election"


def test_a_voter_whose_former_voters_are_gone_comes_back_by_a_bootstrap_server():
    quorum = Replaced(ahead=6)
    gone = [quorum.nodes[node_id] for node_id in {1, 2, 3} - {quorum.away.node_id}]
    for node in gone:
        quorum.simulation.kill(node)
    quorum.simulation.kill(quorum.away)
    quorum.away.config = replace(quorum.away.config, bootstrap_ids=(-14,))
    quorum.simulation.start(quorum.away)
    quorum.come_back(gone)
    assert quorum.away.running.raft.log.voters.ids == (4, 5, 6)


def test_a_voter_that_asks_the_voters_of_its_log_alone_is_left_out(monkeypatch):
    monkeypatch.setattr(election, "_ask_older_leader", lambda core, role: FOREVER)
    quorum = Replaced(ahead=6)
    with pytest.raises(BrokenInvariantError, match="liveness"):
        quorum.come_back(within_ms=20_000)


def _stand(simulation, node):
    """Cut a voter off, and restart it as one that stood in an election of which nobody heard."""
    if node.host is None or not node.host.raft.is_voter or not node.host.raft.role.epoch:
        return
    state = node.host.store.read()
    stood = replace(state, epoch=state.epoch + 2, leader_id=NO_NODE, voted=node.local.key)
    simulation.network.split([node.node_id], simulation.nodes)
    simulation.crash(node)
    node.disk.restart()
    with node.disk.inspected():
        QuorumStateFile(node.disk, FOLDER).write(stood)


def test_chance_finds_that_a_voter_is_left_out(monkeypatch):
    monkeypatch.setattr(election, "_ask_older_leader", lambda core, role: FOREVER)
    changes = (nemesis._change_voters, nemesis._change_voters, nemesis._change_voters)
    actions = (_stand, *changes, nemesis._remove_leader, nemesis._heal)
    monkeypatch.setattr(nemesis, "_ACTIONS", actions)
    monkeypatch.setattr(faulty_run, "drawn", lambda random, network: actions)
    monkeypatch.setattr(faulty_run, "SYNCS_MS", ((),))  # in 1 of 16 runs, and in fewer with others
    assert found("liveness", within_seeds=8, first=7)
