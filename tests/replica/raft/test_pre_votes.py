"""Pre-votes: asking without raising the epoch (KIP-996, scenarios D)."""

import pytest

from replica.model.kafka_errors import ErrorCode
from replica.model.stored import ElectionState
from replica.raft.messages import (
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from replica.raft.roles import Candidate, Follower, Prospective, Unattached
from tests.replica.raft.host import (
    Disk,
    Host,
    batch,
    begin,
    config,
    elect,
    key,
    stored,
    vote,
)


def prospective(state=None):
    """Node 1 of 1, 2, 3 after its election timeout, its pre-votes unanswered."""
    host = Host(config(1, 1, 2, 3), Disk(state=state))
    host.after(2000 if state is not None and state.leader_id > 0 else 1000)
    assert isinstance(host.raft.role, Prospective)
    return host


def pre_vote(host, candidate, epoch, last_epoch=0, end_offset=0):
    return vote(host, candidate, epoch, last_epoch, end_offset, pre_vote=True)


@pytest.mark.scenario("D01")
def test_an_election_timeout_asks_all_voters_and_changes_nothing_on_disk():
    host = prospective()
    sent = host.take(VoteRequest)
    assert {(s.node_id, s.message.epoch, s.message.pre_vote) for s in sent} == {
        (2, 0, True),
        (3, 0, True),
    }
    assert stored(host) == (0, -1, None)


@pytest.mark.scenario("D02")
def test_a_majority_of_pre_votes_makes_a_candidate_of_the_next_epoch():
    host = prospective()
    host.answer(host.take(VoteRequest)[0], VoteResponse(epoch=0, granted=True))
    assert stored(host) == (1, -1, key(1))
    assert host.raft.role.election_deadline == 2000
    assert {s.message.pre_vote for s in host.take(VoteRequest)} == {False}


@pytest.mark.scenario("D03", "D04", "T20")
def test_a_pre_vote_is_granted_until_the_first_good_answer_of_the_leader_then_refused():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    assert pre_vote(host, 3, epoch=1, end_offset=99).granted
    failed = host.take(FetchRequest)[0]
    host.fail(failed)
    assert pre_vote(host, 3, epoch=1, end_offset=99).granted
    host.after(20)
    host.answer(host.take(FetchRequest)[0], FetchResponse(epoch=1, leader_id=2))
    assert not pre_vote(host, 3, epoch=1, end_offset=99).granted


@pytest.mark.scenario("D03")
def test_a_follower_that_has_fetched_refuses_and_names_its_leader():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    host.answer(host.take(FetchRequest)[0], FetchResponse(epoch=1, leader_id=2))
    response = pre_vote(host, 3, epoch=1, end_offset=99)
    assert (response.granted, response.leader_id) == (False, 2)


def test_a_follower_whose_leader_has_resigned_grants_though_it_has_fetched():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    host.answer(host.take(FetchRequest)[0], FetchResponse(epoch=1, leader_id=2))
    host.ask(EndQuorumEpochRequest(epoch=1, leader_id=2, preferred_successors=(key(3), key(1))))
    assert pre_vote(host, 3, epoch=1).granted
    assert isinstance(host.raft.role, Follower)


def test_an_answer_that_was_on_its_way_when_the_leader_resigned_brings_no_trust_back():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    host.ask(EndQuorumEpochRequest(epoch=1, leader_id=2, preferred_successors=(key(3), key(1))))
    deadline = host.raft.role.fetch_deadline
    host.answer(host.take(FetchRequest)[0], FetchResponse(epoch=1, leader_id=2))
    assert host.raft.role.fetch_deadline == deadline
    assert pre_vote(host, 3, epoch=1).granted


@pytest.mark.scenario("D04")
def test_a_follower_that_never_fetched_grants_and_stays_follower():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    assert pre_vote(host, 3, epoch=1).granted
    assert isinstance(host.raft.role, Follower)


@pytest.mark.scenario("D05")
def test_a_pre_vote_of_a_newer_epoch_raises_the_epoch_but_stores_no_vote():
    host = Host(config(1, 1, 2, 3))
    elect(host)
    assert pre_vote(host, 3, epoch=2, last_epoch=1, end_offset=1).granted
    assert stored(host) == (2, -1, None)


@pytest.mark.scenario("D06")
def test_pre_votes_go_to_all_voters_who_ask_and_leave_the_vote_alone():
    host = Host(config(1, 1, 2, 3))
    vote(host, 2, epoch=1)
    assert all(pre_vote(host, asking, epoch=1).granted for asking in (2, 3))
    assert stored(host) == (1, -1, key(2))


@pytest.mark.scenario("D07")
def test_leaders_refuse_pre_votes_and_candidates_and_resigned_grant_them():
    leader = Host(config(1, 1, 2, 3))
    elect(leader)
    assert not pre_vote(leader, 2, epoch=1, end_offset=99).granted
    standing = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, voted=key(1))))
    assert pre_vote(standing, 2, epoch=4).granted
    resigned = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, 1)))
    assert pre_vote(resigned, 2, epoch=4).granted


@pytest.mark.scenario("D08")
def test_a_pre_vote_names_a_last_epoch_up_to_its_own_epoch_and_none_above():
    host = Host(config(1, 1, 2, 3))
    assert pre_vote(host, 2, epoch=3, last_epoch=3).error is ErrorCode.NONE
    assert pre_vote(host, 2, epoch=9, last_epoch=10).error is ErrorCode.INVALID_REQUEST
    assert pre_vote(host, 2, epoch=9, last_epoch=-1).error is ErrorCode.INVALID_REQUEST
    assert host.raft.role.epoch == 3


@pytest.mark.scenario("D09")
def test_a_pre_vote_of_an_older_epoch_is_fenced_and_a_shorter_log_refused():
    disk = Disk(state=ElectionState(4), batches=[batch(0, 4, 4)], flushed=5)
    host = Host(config(1, 1, 2, 3), disk)
    assert pre_vote(host, 2, epoch=3).error is ErrorCode.FENCED_LEADER_EPOCH
    response = pre_vote(host, 2, epoch=4, last_epoch=4, end_offset=4)
    assert (response.error, response.granted) == (ErrorCode.NONE, False)


@pytest.mark.scenario("D10")
@pytest.mark.parametrize("answered", [True, False])
def test_one_voter_without_pre_votes_makes_the_real_vote_necessary(answered):
    host = prospective()
    send = host.take(VoteRequest)[0]
    if answered:
        host.answer(send, VoteResponse(error=ErrorCode.UNSUPPORTED_VERSION, epoch=0))
    else:
        host.fail(send, error=ErrorCode.UNSUPPORTED_VERSION)
    assert (type(host.raft.role), host.raft.role.epoch) == (Candidate, 1)


@pytest.mark.scenario("D11")
@pytest.mark.parametrize("rejected", [True, False])
def test_a_lost_pre_vote_leads_back_to_unattached_in_the_same_epoch(rejected):
    host = prospective()
    if rejected:
        for send in host.take(VoteRequest):
            host.answer(send, VoteResponse(epoch=0))
    else:
        host.after(1000)
    assert (type(host.raft.role), host.raft.role.epoch) == (Unattached, 0)
    host.after(1000)
    assert isinstance(host.raft.role, Prospective)


@pytest.mark.scenario("D12")
@pytest.mark.parametrize("rejected", [True, False])
def test_a_lost_pre_vote_leads_back_to_the_leader_it_had(rejected):
    host = prospective(ElectionState(4, 2))
    if rejected:
        for send in host.take(VoteRequest):
            host.answer(send, VoteResponse(epoch=4, leader_id=2))
    else:
        host.after(1000)
    assert (type(host.raft.role), host.raft.role.leader_id) == (Follower, 2)
    assert host.take(FetchRequest)[0].node_id == 2


@pytest.mark.scenario("D13")
def test_a_lost_pre_vote_keeps_a_leader_that_can_t_be_reached():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, 7)))
    host.after(1000)
    assert isinstance(host.raft.role, Prospective)
    host.after(1000)
    assert isinstance(host.raft.role, Unattached)
    assert stored(host) == (4, 7, None)


@pytest.mark.scenario("D14")
def test_a_granted_pre_vote_that_names_a_leader_is_not_counted_but_followed():
    host = prospective()
    send = host.take(VoteRequest)[0]
    host.answer(send, VoteResponse(epoch=0, granted=True, leader_id=3))
    assert (type(host.raft.role), host.raft.role.leader_id) == (Follower, 3)


@pytest.mark.scenario("D15")
@pytest.mark.parametrize("state", [None, ElectionState(4, 2)])
def test_begin_quorum_epoch_of_the_leader_ends_the_pre_vote(state):
    host = prospective(state)
    sends = host.take(VoteRequest)
    epoch = host.raft.role.epoch
    begin(host, 2, epoch=epoch)
    assert isinstance(host.raft.role, Follower)
    for send in sends:
        host.answer(send, VoteResponse(epoch=epoch, granted=True))
    assert isinstance(host.raft.role, Follower)


@pytest.mark.scenario("D17")
def test_a_prospective_with_a_vote_or_a_leader_grants_no_vote_to_another():
    voted = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, voted=key(2))))
    voted.after(1000)
    assert isinstance(voted.raft.role, Prospective)
    assert vote(voted, 2, epoch=4).granted
    assert not vote(voted, 3, epoch=4, end_offset=9).granted
    led = prospective(ElectionState(4, 2))
    assert not vote(led, 3, epoch=4, end_offset=9).granted


@pytest.mark.scenario("D17")
def test_a_prospective_that_never_voted_may_vote():
    host = prospective()
    begun = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4)))
    begun.after(1000)
    assert vote(begun, 3, epoch=4, last_epoch=3).granted
    assert stored(begun) == (4, -1, key(3))
    assert isinstance(begun.raft.role, Prospective)
    assert isinstance(host.raft.role, Prospective)


@pytest.mark.scenario("D18")
def test_leader_and_vote_of_one_epoch_are_stored_together():
    host = Host(config(1, 1, 2, 3))
    vote(host, 3, epoch=1)
    host.after(1000)
    assert isinstance(host.raft.role, Prospective)
    begin(host, 2, epoch=1)
    assert stored(host) == (1, 2, key(3))
    restarted = host.restarted()
    assert isinstance(restarted.raft.role, Follower)
    assert stored(restarted) == (1, 2, key(3))


def test_a_resigning_leader_s_first_successor_asks_by_pre_vote_at_once():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    host.sends.clear()
    host.ask(EndQuorumEpochRequest(epoch=1, leader_id=2, preferred_successors=(key(1), key(3))))
    assert {s.message.pre_vote for s in host.take(VoteRequest)} == {True}
