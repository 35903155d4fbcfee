"""Random runs keep every promise; the simulator is repeatable, and sees broken rules."""

import os
import subprocess
import sys

import pytest

from replica.simulate.simulation import run

EVENTS = 2000


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
