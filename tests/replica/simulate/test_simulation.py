"""Random runs keep every invariant, and a seed gives the same run everywhere."""

import os
import re
import subprocess
import sys

import pytest

from replica.raft import election
from replica.simulate import faulty_run
from replica.simulate.faulty_run import run
from tests.examples import examples

EVENTS = 2000
CHUNK = 10


def chunks(first, last):
    """Seeds from `first` to `last` - 1, a few in each test."""
    return [range(start, start + CHUNK) for start in range(first, last, CHUNK)]


def nothing_breaks(seeds):
    results = [run(seed, EVENTS) for seed in seeds]
    broken = [f"{result.broken}; {result.replay_command}" for result in results if result.broken]
    assert not broken
    assert all(result.committed > 0 for result in results)


@pytest.mark.scenario("L08", "L09", "L10", "L11", "L13", "L14")
@pytest.mark.parametrize(
    "seeds", chunks(0, examples(30)), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}"
)
def test_no_invariant_breaks_and_the_quorum_recovers(seeds):
    nothing_breaks(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", chunks(30, 700), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_no_invariant_breaks_in_more_runs(seeds):
    nothing_breaks(seeds)


def test_a_seed_gives_the_same_run_in_every_process():
    program = "from replica.simulate.faulty_run import run; print(run(5, 500).trace)"
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


def test_a_result_s_seed_and_events_break_the_same_invariant_again(monkeypatch):
    monkeypatch.setattr(election, "election_order", lambda position: 0)  # any log wins
    first = next(result for result in (run(seed, EVENTS) for seed in range(50)) if result.broken)
    words = re.fullmatch(
        r"kraftlake simulate --seeds (\d+):\d+ --events (\d+)", first.replay_command
    )
    assert run(int(words[1]), int(words[2])) == first


def test_a_quorum_that_finds_no_leader_breaks_liveness(monkeypatch):
    monkeypatch.setattr(election, "_ask", lambda core, role: role.election_deadline)
    monkeypatch.setattr(faulty_run, "SETTLE_MS", 20_000)
    result = run(1, 200)
    assert result.broken.startswith("liveness: 0 committed, replicas are at ")
