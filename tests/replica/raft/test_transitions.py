"""The table of transitions, and which transitions `check` refuses."""

from itertools import product

import pytest

from replica.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Unattached,
    VoteTally,
)
from replica.raft.transitions import ROLES, TRANSITIONS, TransitionCause, check
from tests.replica.raft.host import key, voter, voters

WON = VoteTally(voters(1, 2, 3), frozenset({1, 2}))

IMPOSSIBLE = frozenset(
    {
        # a candidate that lost waits for its election timeout
        *((role, TransitionCause.ELECTION_LOST) for role in ROLES if role is not Prospective),
        *(
            (role, TransitionCause.PRE_VOTE_UNSUPPORTED)
            for role in ROLES
            if role is not Prospective
        ),
        *(
            (role, TransitionCause.MAJORITY_GRANTED)
            for role in (Unattached, Follower, Leader, Resigned)
        ),
        # these have voted already, or know the leader of the epoch
        *((role, TransitionCause.VOTED) for role in (Candidate, Follower, Leader, Resigned)),
        *((role, TransitionCause.RESIGNED) for role in ROLES if role is not Leader),
    }
)
"""The pairs of a role and a cause that never meet."""


def role(kind, epoch, leader_id=2):
    """A role of node 1 in `epoch`."""
    endpoints = voter(leader_id).endpoints
    made = {
        Unattached: lambda: Unattached(epoch),
        Prospective: lambda: Prospective(epoch, WON, 0),
        Candidate: lambda: Candidate(epoch, WON, 0, key(1)),
        Follower: lambda: Follower(epoch, leader_id, endpoints, 0, 0),
        Leader: lambda: Leader(epoch, key(1), voter(1).endpoints, 0, 0, 0),
        Resigned: lambda: Resigned(epoch, 1, voter(1).endpoints, 0, frozenset()),
    }
    return made[kind]()


def test_every_pair_of_role_and_cause_is_in_the_table_or_impossible():
    pairs = set(product(ROLES, TransitionCause))
    assert set(TRANSITIONS) | IMPOSSIBLE == pairs
    assert not set(TRANSITIONS) & IMPOSSIBLE


def test_every_role_can_be_reached_and_left():
    targets = {target for after in TRANSITIONS.values() for target in after}
    assert targets == set(ROLES) == {before for before, _ in TRANSITIONS}


@pytest.mark.scenario("C42")
@pytest.mark.parametrize(("before", "cause"), sorted(IMPOSSIBLE, key=str))
def test_an_impossible_transition_is_refused(before, cause):
    for after in ROLES:
        with pytest.raises(AssertionError):
            check(role(before, 5), cause, role(after, 5), local_id=1)


@pytest.mark.scenario("C42", "C45")
@pytest.mark.parametrize(("before", "cause"), sorted(TRANSITIONS, key=str))
def test_a_transition_leads_to_the_roles_of_the_table_and_to_no_other(before, cause):
    for after in set(ROLES) - set(TRANSITIONS[before, cause]):
        for epoch in (5, 6):
            with pytest.raises(AssertionError, match="illegal transition"):
                check(role(before, 5), cause, role(after, epoch), local_id=1)


@pytest.mark.scenario("C41")
def test_a_candidate_without_a_majority_doesn_t_become_leader():
    check(role(Candidate, 5), TransitionCause.MAJORITY_GRANTED, role(Leader, 5), local_id=1)
    alone = Candidate(5, VoteTally(voters(1, 2, 3), frozenset({1}), frozenset({3})), 0, key(1))
    with pytest.raises(AssertionError, match="majority"):
        check(alone, TransitionCause.MAJORITY_GRANTED, role(Leader, 5), local_id=1)


@pytest.mark.scenario("C40")
@pytest.mark.parametrize("before", ROLES)
def test_no_role_goes_back_to_a_lower_epoch(before):
    for after in ROLES:
        for cause in TransitionCause:
            with pytest.raises(AssertionError):
                check(role(before, 5), cause, role(after, 4), local_id=1)


@pytest.mark.scenario("C42", "D19")
def test_only_a_prospective_becomes_candidate_and_raises_the_epoch_by_one():
    check(role(Prospective, 5), TransitionCause.MAJORITY_GRANTED, role(Candidate, 6), local_id=1)
    for epoch in (5, 7):
        with pytest.raises(AssertionError):
            check(role(Prospective, 5), TransitionCause.MAJORITY_GRANTED, role(Candidate, epoch), 1)
    check(role(Candidate, 5), TransitionCause.TIMEOUT, role(Prospective, 5), local_id=1)
    with pytest.raises(AssertionError):
        check(role(Candidate, 5), TransitionCause.TIMEOUT, role(Prospective, 6), local_id=1)


@pytest.mark.scenario("C36")
def test_the_cause_higher_epoch_needs_a_higher_epoch():
    check(role(Follower, 5), TransitionCause.HIGHER_EPOCH, Unattached(6, 100), local_id=1)
    with pytest.raises(AssertionError):
        check(role(Follower, 5), TransitionCause.HIGHER_EPOCH, Unattached(5, 100), local_id=1)


@pytest.mark.scenario("C43")
def test_no_role_follows_itself_and_only_a_candidate_votes_for_itself():
    with pytest.raises(AssertionError):
        check(
            Unattached(5), TransitionCause.LEADER_FOUND, role(Follower, 5, leader_id=1), local_id=1
        )
    with pytest.raises(AssertionError):
        check(Unattached(5), TransitionCause.VOTED, Unattached(5, 0, voted=key(1)), local_id=1)


@pytest.mark.scenario("C46")
def test_a_replica_without_an_id_follows_but_takes_no_part_in_elections():
    check(Unattached(5), TransitionCause.LEADER_FOUND, role(Follower, 5), local_id=-1)
    check(Unattached(5), TransitionCause.HIGHER_EPOCH, Unattached(6), local_id=-1)
    with pytest.raises(AssertionError):
        check(Unattached(5), TransitionCause.VOTED, Unattached(5, 0, voted=key(2)), local_id=-1)
    with pytest.raises(AssertionError):
        check(role(Candidate, 5), TransitionCause.MAJORITY_GRANTED, role(Leader, 5), local_id=-1)
