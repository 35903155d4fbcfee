"""Random runs keep every promise; the simulator is repeatable, and sees broken rules."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from replica.history.fetch import Diverging, Records
from replica.raft import core, serving
from replica.raft.roles import leader
from replica.simulate.simulation import run

EVENTS = 2000
SEEDS_FOR_A_FAULT = 20


@pytest.mark.scenario("L08", "L09", "L11", "L14")
@pytest.mark.parametrize("seed", range(30))
def test_no_promise_breaks_and_the_quorum_recovers(seed):
    result = run(seed, EVENTS)
    assert result.broken is None, f"{result.broken}; {result.replay_command}"
    assert result.committed > 0


def test_a_seed_gives_the_same_run_in_every_process():
    program = "from replica.simulate.simulation import run; print(run(5, 500).trace)"
    traces = {run(5, 500).trace}
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        )
        traces.add(done.stdout.decode().strip())
    assert len(traces) == 1


def test_other_seeds_give_other_runs():
    assert run(5, 200).trace != run(6, 200).trace


def first_broken():
    """What the first of some seeds says is broken."""
    results = (run(seed, EVENTS) for seed in range(SEEDS_FOR_A_FAULT))
    return next((result.broken for result in results if result.broken), None)


def test_a_vote_that_is_not_persisted_is_seen(monkeypatch):
    persist = core.Core.persist

    def forgetting(self):
        persist(self)
        state = self.effects.quorum_state
        if state is not None:
            self.emit(quorum_state=replace(state, voted=None))

    monkeypatch.setattr(core.Core, "persist", forgetting)
    assert first_broken().startswith("votes: ")


def test_a_high_watermark_without_a_record_of_its_own_epoch_is_seen(monkeypatch):
    rule = leader.leader_high_watermark
    monkeypatch.setattr(
        leader,
        "leader_high_watermark",
        lambda voters, ends, epoch_start, current: rule(voters, ends, -1, current),
    )
    assert first_broken().startswith("high watermark: ")


def test_truncation_by_offset_alone_is_seen(monkeypatch):
    rule = serving.validate_position

    def by_offset(view, offset, epoch):
        decision = rule(view, offset, epoch)
        is_inside = view.log_start < offset <= view.log_end
        return Records() if isinstance(decision, Diverging) and is_inside else decision

    monkeypatch.setattr(serving, "validate_position", by_offset)
    assert first_broken().startswith("log matching: ")
