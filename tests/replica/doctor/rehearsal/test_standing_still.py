"""A step of a rehearsal ends soon where nothing can change any more, and no sooner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replica.doctor.rehearsal.captured import CapturedQuorum
from replica.doctor.rehearsal.quorum import (
    PATIENCE_MS,
    START_WITHIN_MS,
    STILL_MS,
    RehearsedQuorum,
)
from replica.doctor.rehearsal.step import ScenarioStep
from replica.model.keys import ReplicaKey
from replica.simulate.metadata_records import no_op, uuid_of
from tests.replica.doctor.rehearsal.test_losing import captured

ELECTED_WITHIN_MS = 8_000


def with_a_voter_of_another_quorum() -> CapturedQuorum:
    """Voter 3 holds the log of a quorum that was formatted with the same cluster id. It ends inside
    a batch of the others."""
    mine = captured("mine", is_static=True)
    theirs = captured("theirs", is_static=True, last=no_op())
    other = replace(theirs.nodes[3], key=mine.nodes[3].key)
    return replace(mine, nodes={**mine.nodes, 3: other})


def played(quorum: RehearsedQuorum) -> RehearsedQuorum:
    quorum.play(ScenarioStep())
    return quorum


@pytest.mark.parametrize("seed", range(3))
def test_a_follower_whose_log_the_leader_never_continues_is_not_waited_for(seed: int) -> None:
    quorum = played(RehearsedQuorum(with_a_voter_of_another_quorum(), seed))
    assert quorum.leader() is not None
    assert not quorum.has_settled()
    assert quorum.simulation.now < START_WITHIN_MS + ELECTED_WITHIN_MS + STILL_MS < PATIENCE_MS


@pytest.mark.parametrize("seed", range(3))
def test_a_quorum_of_which_no_voter_is_there_is_not_waited_for(seed: int) -> None:
    """Its nodes have other disks than the voters had."""
    mine = captured("mine", is_static=False)
    other = {
        node_id: replace(node, key=ReplicaKey(node_id, uuid_of(f"other disk of {node_id}")))
        for node_id, node in mine.nodes.items()
    }
    quorum = played(RehearsedQuorum(replace(mine, nodes=other), seed))
    assert quorum.leader() is None
    assert quorum.simulation.now < START_WITHIN_MS + 2 * STILL_MS < PATIENCE_MS


def test_a_quorum_that_may_still_elect_a_leader_is_waited_for() -> None:
    """Two of three voters don't hear each other: each stands for election again and again."""
    quorum = RehearsedQuorum(captured("mine", is_static=True), 0)
    quorum.play(ScenarioStep(cut=((1, 2), (1, 3), (2, 3))))
    assert quorum.leader() is None
    assert quorum.simulation.now > PATIENCE_MS
