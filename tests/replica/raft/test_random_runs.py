"""Safety after every event of random runs, and that the quorum recovers once faults stop."""

import pytest

from replica.raft.raft import Raft
from tests.examples import examples
from tests.replica.raft.random_run import RandomRun

SAFETY = pytest.mark.scenario("L08", "L09", "L11", "L12", "L14")
SEEDS = pytest.mark.parametrize("seed", range(examples(8, least=3)))
"""Three of them have quorums of each size."""


@SAFETY
@SEEDS
def test_static_quorums_keep_raft_s_promises(seed):
    run = RandomRun(seed, *range(1, 4 + seed % 3), observers=(9,))
    run.run(2000)
    run.settle()


@SAFETY
@SEEDS
def test_quorums_that_trim_their_logs_at_once_keep_raft_s_promises(seed):
    run = RandomRun(seed, *range(1, 4 + seed % 3), observers=(9,), retention_bytes=0)
    run.run(2000)
    run.settle()


@SAFETY
@SEEDS
def test_quorums_whose_voters_come_and_go_keep_raft_s_promises(seed):
    run = RandomRun(
        seed, *range(1, 4 + seed % 3), observers=(8, 9), in_log=True, retention_bytes=seed % 2 - 1
    )
    run.run(2000)
    run.settle()


def test_the_core_never_changes_effects_that_it_has_handed_out(monkeypatch):
    step, handed = Raft.step, []

    def noted(self, event, now_ms):
        effects = step(self, event, now_ms)
        handed.append((effects, repr(effects)))
        return effects

    monkeypatch.setattr(Raft, "step", noted)
    RandomRun(1, 1, 2, 3, observers=(9,), retention_bytes=0).run(1000)
    assert len({id(effects) for effects, _ in handed}) == len(handed) > 0
    assert all(repr(effects) == shown for effects, shown in handed)
