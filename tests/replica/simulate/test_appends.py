"""Appends as clients see them, on a quorum of the real engine without faults."""

import pytest

from replica.simulate.broken import BrokenInvariantError
from replica.simulate.node import Layout
from replica.simulate.simulation import Simulation


@pytest.fixture
def simulation():
    simulation = Simulation(1, Layout(voters=3))
    simulation.run_until(lambda: simulation.invariants.appends.acknowledged >= 10, 60_000)
    return simulation


def goes_on(simulation):
    simulation.run_until(lambda: False, 10_000)


def test_every_append_to_a_leader_that_stays_is_acknowledged(simulation):
    simulation.run_until(lambda: simulation.invariants.ledger.end >= 50, 60_000)
    values = [e for e in simulation.invariants.ledger.entries.values() if e.voters is None]
    assert simulation.invariants.appends.acknowledged == len(values)


def test_an_append_in_flight_at_a_leader_that_dies_is_not_acknowledged(simulation):
    leader, appends = simulation.leader(), simulation.invariants.appends
    end = leader.running.log.log_end
    simulation.run_until(lambda: leader.running.log.log_end > end, 10_000)
    before = appends.acknowledged
    simulation.kill(leader)
    simulation.run_until(lambda: simulation.leader() not in (None, leader), 60_000)
    assert appends.acknowledged == before


def test_an_append_placed_before_an_earlier_acknowledgement_breaks_linearizability(simulation):
    simulation.invariants.appends._acknowledged_end = 10**6
    with pytest.raises(BrokenInvariantError, match=r"linearizable: .* below 1000000 was ack"):
        goes_on(simulation)


def test_a_value_that_no_client_appended_breaks_linearizability(simulation):
    simulation.invariants.appends._appends.clear()
    with pytest.raises(BrokenInvariantError, match=r"linearizable: .* appended by nobody"):
        goes_on(simulation)


def test_an_acknowledged_append_that_is_not_in_the_log_at_the_end_is_lost(simulation):
    ledger = simulation.invariants.ledger
    del ledger.entries[next(reversed(ledger.entries))]
    with pytest.raises(BrokenInvariantError, match=r"linearizable: acknowledged offset .* is gone"):
        simulation.invariants.appends.ended(ledger)
