"""The failures of Kafka's own simulator (RaftEventSimulationTest), without chance. Every invariant
is checked after every event."""

import pytest

from replica.raft.effects import Effects
from replica.raft.inputs import Shutdown
from replica.simulate.broken import BrokenInvariantError
from replica.simulate.node import Layout
from replica.simulate.simulation import Simulation

WITHIN_MS = 60_000


def started(voters, observers=0, seed=1, **layout):
    """A quorum without faults, all of whose replicas have committed records."""
    simulation = Simulation(seed, Layout(voters, observers, **layout))
    everybody_reaches(simulation, 10)
    return simulation


def everybody_reaches(simulation, offset, nodes=None):
    nodes = simulation.nodes.values() if nodes is None else nodes
    simulation.run_until(lambda: all(applied(node) >= offset for node in nodes), WITHIN_MS)


def applied(node):
    return node.host.machine.next_offset if node.host else 0


def committed(simulation):
    return simulation.invariants.ledger.end


def others(simulation, *nodes):
    return [node for node in simulation.nodes.values() if node not in nodes]


@pytest.mark.scenario("L01")
@pytest.mark.parametrize("observers", [0, 5])
@pytest.mark.parametrize("voters", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("is_static", [False, True])
def test_any_quorum_elects_a_leader_that_all_agree_on(voters, observers, is_static):
    simulation = started(voters, observers, is_static=is_static)
    known = {node.host.raft.role.leader_id for node in simulation.nodes.values()}
    assert known == {simulation.leader().node_id}


@pytest.mark.scenario("L02")
@pytest.mark.parametrize("is_graceful", [False, True])
@pytest.mark.parametrize("voters", [3, 4, 5])
def test_a_leader_that_crashes_is_replaced_and_catches_up_when_it_is_back(voters, is_graceful):
    simulation = started(voters)
    old = simulation.leader()
    if is_graceful:
        simulation.step(old, Shutdown(10_000))
        simulation.run_until(lambda: old.host is None, WITHIN_MS)
    else:
        simulation.kill(old)
    everybody_reaches(simulation, committed(simulation) + 10, others(simulation, old))
    assert simulation.leader() is not old
    simulation.start(old)
    everybody_reaches(simulation, committed(simulation))


@pytest.mark.scenario("L03")
@pytest.mark.parametrize("voters", [3, 4, 5])
def test_a_majority_goes_on_after_all_were_killed(voters):
    simulation = started(voters)
    for node in simulation.nodes.values():
        simulation.kill(node)
    majority = list(simulation.nodes.values())[: voters // 2 + 1]
    for node in majority:
        simulation.start(node)
    everybody_reaches(simulation, committed(simulation) + 10, majority)


@pytest.mark.scenario("L04")
@pytest.mark.parametrize("voters", [3, 4, 5])
def test_the_rest_goes_on_without_a_leader_that_is_cut_off(voters):
    simulation = started(voters)
    old = simulation.leader()
    simulation.network.split([old.node_id], simulation.nodes)
    everybody_reaches(simulation, committed(simulation) + 10, others(simulation, old))
    assert simulation.leader() is not old


@pytest.mark.scenario("L05")
def test_the_side_with_a_majority_goes_on_though_requests_between_the_sides_are_lost():
    simulation = started(5)
    few, many = list(simulation.nodes.values())[:2], list(simulation.nodes.values())[2:]
    links = {(a.node_id, b.node_id) for a in few for b in many}
    simulation.network.cut_requests = links | {(b, a) for a, b in links}
    everybody_reaches(simulation, committed(simulation) + 10, many)
    assert min(map(applied, many)) > max(map(applied, few))
    simulation.network.heal()
    everybody_reaches(simulation, committed(simulation))


@pytest.mark.scenario("L06")
def test_the_quorum_goes_on_when_one_leader_after_the_other_is_cut_off():
    simulation = started(5)
    first = simulation.leader()
    simulation.network.split([first.node_id], simulation.nodes)
    simulation.run_until(lambda: simulation.leader() not in (None, first), WITHIN_MS)
    second = simulation.leader()
    simulation.network.heal()
    simulation.network.split([second.node_id], simulation.nodes)
    everybody_reaches(simulation, committed(simulation) + 10, others(simulation, second))
    assert simulation.leader() is not second


@pytest.mark.scenario("L07")
@pytest.mark.parametrize("victim", [1, 2, 3])
def test_a_wiped_voter_comes_back_empty_and_loses_nothing_that_was_committed(victim):
    simulation = started(3)
    node = simulation.nodes[victim]
    simulation.kill(node)
    rest = others(simulation, node)
    simulation.run_until(lambda: simulation.leader() in rest, WITHIN_MS)
    node.wipe(simulation.random)
    before = committed(simulation)
    simulation.start(node)
    everybody_reaches(simulation, before + 10)
    assert node.host.log.log_start == 0
    assert not node.host.raft.is_voter


@pytest.mark.scenario("L10")
def test_a_high_watermark_above_what_a_majority_holds_is_caught(monkeypatch):
    simulation = started(3)
    leader = simulation.leader()
    for shadow in simulation.invariants.shadows.values():
        monkeypatch.setattr(type(shadow), "follow", lambda shadow, host, effects: [])
        shadow.flushed = 0
    with pytest.raises(
        BrokenInvariantError, match=r"high watermark: .* is flushed on 0 of 3 voters"
    ):
        everybody_reaches(simulation, committed(simulation) + 10, [leader])


@pytest.mark.scenario("L13")
def test_a_snapshot_for_the_state_machine_of_a_leader_is_caught():
    simulation = started(3)
    leader = simulation.leader()
    simulation.snapshot(leader)
    newest = list(leader.host.log.snapshots)[-1]
    with pytest.raises(BrokenInvariantError, match=r"state machine: .* while it led"):
        leader.host.stepped(Effects(load_snapshot=newest))


@pytest.mark.scenario("H36")
@pytest.mark.parametrize("voters", [1, 2, 3])
def test_observers_that_join_by_themselves_all_become_voters(voters):
    simulation = started(voters, 2, auto_joins=True)
    everybody = set(range(1, voters + 3))
    nodes = others(simulation)
    simulation.run_until(
        lambda: all(set(node.host.raft.log.voters.ids) == everybody for node in nodes), WITHIN_MS
    )
    everybody_reaches(simulation, committed(simulation) + 10)


@pytest.mark.scenario("H38")
@pytest.mark.parametrize("voters", [2, 3])
def test_a_voter_with_a_new_disk_takes_its_own_place(voters):
    """The other voters have to be a majority without it, so two voters are too few."""
    simulation = started(voters, auto_joins=True)
    wiped = others(simulation, simulation.leader())[0]
    simulation.kill(wiped)
    wiped.wipe(simulation.random)
    simulation.start(wiped)

    def is_back():
        running = [node.host.raft.log.voters for node in nodes if node.host is not None]
        return all(voters.is_voter(wiped.local.key) for voters in running)

    nodes = others(simulation)
    if voters == 2:
        with pytest.raises(BrokenInvariantError, match="liveness"):
            simulation.run_until(is_back, WITHIN_MS)
        return
    simulation.run_until(is_back, WITHIN_MS)
    everybody_reaches(simulation, committed(simulation) + 10)
