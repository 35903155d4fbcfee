"""What the leader of a quorum of one wrote is committed, whoever holds it."""

from __future__ import annotations

from dataclasses import replace

from replica.history.commitment import classify
from replica.model.keys import ReplicaKey
from replica.model.voters import VotersAt
from tests.replica.history.test_commitment import (
    PROVEN,
    UNPROVEN,
    replica,
    static,
    verdicts,
    voters_at,
)


def of_one(node, *epochs, elected=(1,), voters=(1,), **more):
    """A log of a quorum that node 1 leads as the only voter."""
    ids = frozenset(ReplicaKey(n) for n in elected)
    changes = tuple(VotersAt(epochs.index(epoch), epoch, ids) for epoch in {*epochs})
    return replace(replica(node, *epochs, voters=voters, **more), leader_changes=changes)


def test_what_an_observer_got_from_the_only_voter_is_committed_without_the_voters_disk():
    """The leader held each entry that it gave away, and alone it is a majority."""
    gone = classify([of_one(4, 1, 1, 2, 2)])
    assert verdicts(gone, 4) == [(0, 4, PROVEN)]
    older = classify([of_one(1, 1, 1), of_one(4, 1, 1, 2, 2)])
    assert (verdicts(older, 1), verdicts(older, 4)) == ([(0, 2, PROVEN)], [(0, 4, PROVEN)])
    named_by_election = classify([static(4, 1, 1, voters=(1,))])
    assert verdicts(named_by_election, 4) == [(0, 2, PROVEN)]


def test_an_only_voter_proves_nothing_where_it_may_not_have_been_alone_or_lost_its_log():
    joined = of_one(4, 1, 1, 1, changes=[voters_at(1, 1, 2)])
    assert verdicts(classify([joined]), 4) == [(0, 3, UNPROVEN)]
    left_alone = of_one(4, 1, 1, elected=(1, 2))
    assert verdicts(classify([left_alone]), 4) == [(0, 2, UNPROVEN)]
    removed_itself = of_one(4, 1, 1, voters=(2,))
    assert verdicts(classify([removed_itself]), 4) == [(0, 2, UNPROVEN)]
    parted = classify([of_one(1, 1, 2), of_one(4, 1, 1)])
    assert verdicts(parted, 4) == [(0, 1, PROVEN), (1, 2, UNPROVEN)]
