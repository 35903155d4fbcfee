"""How votes are counted: a vote is final, of a voter's pre-votes the latest counts (scenarios
C27-C29, D16)."""

import pytest

from replica.raft.roles import IllegalVoteError, VoteTally
from tests.replica.raft.host import voters

OWN = VoteTally(voters(1, 2, 3), frozenset({1}))


@pytest.mark.scenario("C27")
def test_a_tally_of_three_is_open_after_one_rejection_and_lost_after_two():
    one = OWN.recorded(2, granted=False)
    assert not one.is_won
    assert not one.is_lost
    assert one.recorded(3, granted=False).is_lost
    won = OWN.recorded(2, granted=True).recorded(3, granted=False)
    assert won.is_won
    assert not won.is_lost


@pytest.mark.scenario("C28")
@pytest.mark.parametrize("granted", [True, False])
def test_a_real_vote_is_final(granted):
    tally = OWN.recorded(2, granted=granted)
    assert tally.recorded(2, granted=granted) == tally
    with pytest.raises(IllegalVoteError, match="node 2 changed its vote"):
        tally.recorded(2, granted=not granted)


@pytest.mark.scenario("C29")
def test_only_voters_are_counted_and_nobody_rejects_itself():
    for granted in (True, False):
        with pytest.raises(IllegalVoteError, match="node 9 answered but is no voter"):
            OWN.recorded(9, granted=granted)
    with pytest.raises(IllegalVoteError, match="node 1 changed"):
        OWN.recorded(1, granted=False)


@pytest.mark.scenario("D16")
def test_of_a_voter_s_pre_votes_the_latest_counts():
    changed = OWN.latest(2, granted=True).latest(2, granted=False)
    assert (changed.granted, changed.rejected) == ({1}, {2})
    assert changed.latest(2, granted=True).is_won
