"""An upgrade of kraft.version that is appended, and never committed. Every invariant is checked
after every event, and finds each rule of the engine that a test breaks here. Random faults seldom
bring an upgrade, a cut and a snapshot together within a second."""

from dataclasses import replace

import pytest

from replica.raft.log_state import LogState
from replica.raft.messages import UpdateFeaturesRequest
from replica.simulate.broken import BrokenInvariantError
from replica.simulate.node import Layout
from replica.simulate.simulation import Simulation

WITHIN_MS = 60_000


def after_a_lost_upgrade():
    """A leader of static voters, which was cut off, appended the upgrade, wrote a snapshot of what
    was committed before, and then lost the upgrade to a new leader."""
    simulation = Simulation(1, Layout(3, is_static=True))
    simulation.run_until(lambda: knows_all_voters(simulation.leader()), WITHIN_MS)
    leader = simulation.leader()
    simulation.network.split([leader.node_id], simulation.nodes)
    simulation.ask(leader, UpdateFeaturesRequest(kraft_version=1))
    assert leader.running.raft.log.kraft_version == 1
    simulation.snapshot(leader)
    upgraded = leader.running.raft.log.log_end
    simulation.run_until(lambda: simulation.leader() not in (None, leader), WITHIN_MS)
    simulation.network.heal()
    simulation.run_until(lambda: leader.running.machine.next_offset >= upgraded, WITHIN_MS)
    return leader


def knows_all_voters(leader):
    return leader is not None and len(leader.running.raft.role.learned) == 3


def test_an_upgrade_that_is_not_committed_is_in_no_snapshot_and_can_be_lost():
    host = after_a_lost_upgrade().running
    assert host.raft.log.kraft_version == 0
    assert [facts.kraft_version for facts in host.log.snapshots.facts()] == [0]


def test_a_snapshot_with_a_kraft_version_whose_record_is_not_committed_is_found(monkeypatch):
    monkeypatch.setattr(LogState, "kraft_version_at", lambda self, offset: self.kraft_version)
    with pytest.raises(BrokenInvariantError, match=r"^snapshots: .* kraft.version 1, committed"):
        after_a_lost_upgrade()


def test_a_kraft_version_that_stays_in_force_when_its_record_is_truncated_is_found(monkeypatch):
    rule = LogState.truncated

    def keeping(self, end_offset):
        return replace(rule(self, end_offset), versions=self.versions)

    monkeypatch.setattr(LogState, "truncated", keeping)
    with pytest.raises(BrokenInvariantError, match=r"^voter sets: .* goes by kraft.version 1"):
        after_a_lost_upgrade()
