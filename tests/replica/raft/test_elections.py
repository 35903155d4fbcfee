"""Votes: which requests are granted, what is stored, and what follows an election (scenarios C)."""

import pytest

from replica.model.control import LeaderChange
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ReplicaKey
from replica.model.stored import ElectionState
from replica.raft.config import FOREVER
from replica.raft.inputs import Shutdown
from replica.raft.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from replica.raft.roles import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Resigned,
    Unattached,
    VoteTally,
)
from tests.replica.raft.host import (
    Disk,
    Host,
    batch,
    begin,
    bootstrapped,
    config,
    dynamic,
    elect,
    key,
    stored,
    vote,
    voter,
    voters,
)


def host_of_three(**changes):
    return Host(config(1, 1, 2, 3, **changes))


def candidate():
    """Node 1 of 1, 2, 3, candidate of epoch 1, its requests unanswered."""
    host = host_of_three()
    host.after(1000)
    for send in host.take(VoteRequest):
        host.answer(send, VoteResponse(epoch=0, granted=True))
    assert isinstance(host.raft.role, Candidate)
    return host


def disk_with_log(*batches, state=None):
    return Disk(state=state, batches=list(batches), flushed=batches[-1].end_offset)


@pytest.mark.scenario("C09", "C33")
def test_a_vote_is_granted_to_a_log_as_new_and_stored_before_the_reply():
    host = host_of_three()
    host.ask(VoteRequest(epoch=1, candidate=key(2), last_epoch=0, end_offset=0))
    effects = host.effects[-1]
    assert effects.quorum_state == ElectionState(1, -1, key(2), 0, (1, 2, 3))
    assert effects.replies[0].message.granted


@pytest.mark.scenario("C08", "C33", "T09")
def test_a_shorter_log_gets_no_vote_but_its_epoch_is_adopted():
    host = Host(config(1, 1, 2, 3))
    elect(host)
    response = vote(host, 2, epoch=2)
    assert not response.granted
    assert response.epoch == 2
    assert isinstance(host.raft.role, Unattached)
    assert stored(host) == (2, -1, None)


@pytest.mark.scenario("C10", "C32")
def test_a_follower_refuses_votes_of_its_epoch_and_names_its_leader():
    host = host_of_three()
    begin(host, 3, epoch=1)
    response = vote(host, 2, epoch=1)
    assert (response.granted, response.leader_id, response.epoch) == (False, 3, 1)


@pytest.mark.scenario("C11")
def test_one_vote_in_an_epoch():
    host = host_of_three()
    assert vote(host, 2, epoch=1).granted
    assert not vote(host, 3, epoch=1).granted
    assert vote(host, 2, epoch=1).granted
    assert stored(host) == (1, -1, key(2))


@pytest.mark.scenario("C12")
def test_an_older_epoch_is_fenced_and_changes_nothing():
    host = host_of_three()
    vote(host, 2, epoch=5)
    before = host.raft.role
    response = vote(host, 3, epoch=4)
    assert (response.error, response.epoch) == (ErrorCode.FENCED_LEADER_EPOCH, 5)
    assert host.raft.role == before


@pytest.mark.scenario("C13", "T06")
@pytest.mark.parametrize(
    "wrong", [{"last_epoch": 7}, {"last_epoch": -1}, {"end_offset": -1}, {"epoch": -1}]
)
def test_an_impossible_vote_request_is_refused_counted_and_raises_no_epoch(wrong):
    host = host_of_three()
    request = {"epoch": 7, "last_epoch": 6, "end_offset": 3, **wrong}
    response = vote(host, 2, **request)
    assert response.error is ErrorCode.INVALID_REQUEST
    assert host.raft.role.epoch == 0
    assert sum(host.raft.illegal_messages.values()) == 1


@pytest.mark.scenario("C13")
def test_a_vote_request_in_the_local_replica_s_name_is_illegal():
    host = host_of_three()
    assert vote(host, 1, epoch=7).error is ErrorCode.INVALID_REQUEST
    assert host.raft.role.epoch == 0


@pytest.mark.scenario("C14", "T07")
@pytest.mark.parametrize("meant", [key(2), key(1, "other")])
def test_a_vote_request_for_another_replica_is_refused_yet_its_epoch_counts(meant):
    host = host_of_three()
    response = vote(host, 2, epoch=1, voter=meant)
    assert (response.error, response.granted) == (ErrorCode.INVALID_VOTER_KEY, False)
    assert stored(host) == (1, -1, None)


@pytest.mark.scenario("C15", "C16")
def test_a_leader_refuses_votes_of_its_epoch_to_voters_and_observers_alike():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(2)))
    assert elect(host) == 3
    for asking in (2, 9):
        response = vote(host, asking, epoch=3, end_offset=99)
        assert (response.error, response.granted) == (ErrorCode.NONE, False)
        assert vote(host, asking, epoch=2, last_epoch=1).error is ErrorCode.FENCED_LEADER_EPOCH


@pytest.mark.scenario("C16")
def test_a_candidate_keeps_its_vote():
    host = candidate()
    assert not vote(host, 2, epoch=1, end_offset=99).granted
    assert stored(host) == (1, -1, key(1))


@pytest.mark.scenario("C05", "C17")
def test_observers_with_an_id_and_resigned_leaders_vote_in_newer_epochs():
    observer = Host(config(9, 1, 2, 3))
    assert vote(observer, 2, epoch=1).granted
    assert stored(observer) == (1, -1, key(2))
    resigned = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, 1)))
    assert isinstance(resigned.raft.role, Resigned)
    assert vote(resigned, 2, epoch=5).granted
    assert stored(resigned) == (5, -1, key(2))


@pytest.mark.scenario("C05")
def test_a_candidate_votes_for_another_in_a_newer_epoch():
    host = candidate()
    assert vote(host, 2, epoch=2, last_epoch=1).granted
    assert stored(host) == (2, -1, key(2))


@pytest.mark.scenario("C18")
def test_of_two_voters_both_are_needed():
    host = Host(config(1, 1, 2))
    assert elect(host) == 1
    first = host.disk.batches[0]
    assert first.control[0] == LeaderChange(1, (key(1), key(2)), (key(1), key(2)))
    assert host.disk.flushed == 1


@pytest.mark.scenario("C19")
def test_the_first_grant_of_three_voters_makes_a_leader_which_names_its_voters():
    host = candidate()
    first = host.take(VoteRequest)[0]
    assert first.message.pre_vote is False
    host.answer(first, VoteResponse(epoch=1, granted=True))
    assert isinstance(host.raft.role, Leader)
    change = host.disk.batches[0].control[0]
    assert change == LeaderChange(1, (key(1), key(2), key(3)), (key(1), key(2)))


@pytest.mark.scenario("C20")
def test_a_late_answer_to_a_vote_request_that_was_repeated_is_ignored():
    host = candidate()
    late = next(s for s in host.take(VoteRequest) if s.node_id == 2)
    host.after(500)
    again = next(s for s in host.take(VoteRequest) if s.node_id == 2)
    host.answer(late, VoteResponse(epoch=1, granted=True))
    assert isinstance(host.raft.role, Candidate)
    host.answer(again, VoteResponse(epoch=1, granted=True))
    assert isinstance(host.raft.role, Leader)


@pytest.mark.scenario("C21", "C38", "D19")
def test_a_candidate_that_loses_keeps_its_vote_waits_and_tries_by_pre_vote():
    host = candidate()
    for send in host.take(VoteRequest):
        host.answer(send, VoteResponse(epoch=1))
    assert host.raft.role.tally.is_lost
    host.after(999)
    assert isinstance(host.raft.role, Candidate)
    assert host.take(VoteRequest) == []
    host.after(1)
    assert isinstance(host.raft.role, Prospective)
    assert stored(host) == (1, -1, key(1))
    host.after(300)
    for send in host.take(VoteRequest):
        host.answer(send, VoteResponse(epoch=1, granted=True))
    assert host.raft.role == Candidate(2, VoteTally(voters(1, 2, 3), frozenset({1})), 3300, key(1))


@pytest.mark.scenario("C22")
def test_a_follower_ignores_late_answers_to_its_vote_requests():
    host = candidate()
    sends = host.take(VoteRequest)
    begin(host, 2, epoch=1)
    for send in sends:
        host.answer(send, VoteResponse(epoch=1, granted=True))
    assert isinstance(host.raft.role, Follower)


@pytest.mark.scenario("C23")
def test_a_voter_that_lost_its_leader_asks_with_its_last_epoch_and_end_offset():
    host = Host(config(1, 1, 2, 3), disk_with_log(batch(0, 4, 2), state=ElectionState(3, 2)))
    assert isinstance(host.raft.role, Follower)
    host.after(2000)
    for send in host.take(VoteRequest):
        assert send.message.pre_vote
        host.answer(send, VoteResponse(epoch=3, granted=True))
    real = host.take(VoteRequest)[0].message
    assert (real.epoch, real.last_epoch, real.end_offset) == (4, 2, 5)


@pytest.mark.scenario("C24", "C25", "C45")
def test_an_observer_stands_in_no_election():
    host = Host(config(9, 1, 2, 3, bootstrap_ids=(-2,)))
    vote(host, 2, epoch=1)
    assert host.raft.role.election_deadline == FOREVER
    host.after(20_000)
    assert isinstance(host.raft.role, Unattached)
    begin(host, 2, epoch=1)
    host.after(20_000)
    assert isinstance(host.raft.role, Follower)
    assert host.take(VoteRequest) == []


@pytest.mark.scenario("C30")
def test_a_vote_without_directory_goes_to_every_directory_of_its_node():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, voted=ReplicaKey(2))))
    assert vote(host, 2, epoch=4).granted
    assert vote(host, key(2, "other"), epoch=4).granted
    assert not vote(host, 3, epoch=4).granted


@pytest.mark.scenario("C31")
def test_a_vote_for_a_directory_is_repeated_only_to_that_directory():
    state = ElectionState(4, voted=key(2))
    host = Host(config(1, 1, 2, 3), disk_with_log(batch(0, 9, 3), state=state))
    assert vote(host, 2, epoch=4).granted
    assert not vote(host, key(2, "other"), epoch=4, last_epoch=3, end_offset=10).granted
    assert not vote(host, ReplicaKey(2), epoch=4, last_epoch=3, end_offset=10).granted


@pytest.mark.scenario("C32", "I02")
def test_a_follower_that_knows_only_its_leaders_id_refuses_votes_and_keeps_the_id():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(4, 7)))
    assert isinstance(host.raft.role, Unattached)
    assert not vote(host, 2, epoch=4, end_offset=9).granted
    assert stored(host) == (4, 7, None)


@pytest.mark.scenario("C34", "C36", "T08")
def test_the_election_timer_is_kept_on_a_newer_epoch_unless_there_was_a_leader():
    host = host_of_three()
    host.after(400)
    vote(host, 2, epoch=6, last_epoch=5, voter=key(2))
    assert host.raft.role.election_deadline == 1000
    begin(host, 2, epoch=6)
    vote(host, 3, epoch=7, last_epoch=6, voter=key(3))
    assert host.raft.role.election_deadline == 1400


@pytest.mark.scenario("C35", "T08")
def test_the_election_timer_is_drawn_anew_when_a_vote_is_granted():
    host = host_of_three()
    host.after(400)
    vote(host, 2, epoch=1)
    assert host.raft.role.election_deadline == 1400


@pytest.mark.scenario("C37")
def test_a_vote_for_one_doesn_t_keep_from_following_another():
    host = host_of_three()
    vote(host, 2, epoch=1)
    assert begin(host, 3, epoch=1).error is ErrorCode.NONE
    assert stored(host) == (1, 3, key(2))


@pytest.mark.scenario("C39")
def test_a_leader_s_further_endpoints_are_taken_and_a_second_leader_is_illegal():
    host = host_of_three()
    begin(host, 2, epoch=1)
    more = (*voter(2).endpoints, *voter(2, port=9001).endpoints)
    assert begin(host, 2, epoch=1, leader_endpoints=more).error is ErrorCode.NONE
    assert host.raft.role.leader_endpoints == more
    assert begin(host, 3, epoch=1).error is ErrorCode.INVALID_REQUEST
    assert host.raft.role.leader_id == 2
    assert sum(host.raft.illegal_messages.values()) == 1


@pytest.mark.scenario("C44")
def test_a_leader_outside_of_the_voter_set_is_voted_for_and_followed():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    assert vote(host, 9, epoch=2, last_epoch=1, end_offset=9).granted
    answer = begin(host, 9, epoch=2, leader_endpoints=voter(9).endpoints)
    assert answer.error is ErrorCode.NONE
    assert host.raft.role.leader_id == 9


@pytest.mark.scenario("C46")
def test_a_replica_without_an_id_grants_nothing_but_follows():
    host = Host(config(9, 1, 2, 3, local=None))
    assert not vote(host, 2, epoch=1).granted
    assert begin(host, 2, epoch=1).error is ErrorCode.NONE
    request = host.take(FetchRequest)[0].message
    assert request.replica.node_id == -1


@pytest.mark.scenario("C44")
def test_an_answer_with_a_newer_epoch_and_leader_is_followed():
    host = candidate()
    send = host.take(VoteRequest)[0]
    host.answer(send, VoteResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=9, leader_id=3))
    assert stored(host) == (9, 3, None)


@pytest.mark.scenario("C33")
def test_a_newer_last_epoch_beats_a_longer_log():
    host = Host(config(1, 1, 2, 3), Disk(ElectionState(2), batches=[batch(0, 4, 2)], flushed=5))
    assert not vote(host, 2, epoch=4, last_epoch=1, end_offset=99).granted
    assert vote(host, 3, epoch=5, last_epoch=3, end_offset=1).granted


def test_the_newest_of_log_and_snapshot_stands_in_an_election():
    host = host_of_three()
    begin(host, 2, epoch=3)
    send = host.take(FetchRequest)[0]
    host.answer(send, FetchResponse(epoch=3, leader_id=2, batches=(batch(0, 4, 3),)))
    assert not vote(host, 3, epoch=4, last_epoch=3, end_offset=4).granted
    assert vote(host, 3, epoch=5, last_epoch=3, end_offset=5).granted


@pytest.mark.scenario("C26")
def test_a_leader_that_shuts_down_still_votes():
    host = host_of_three()
    elect(host)
    host.step(Shutdown(5000))
    assert vote(host, 2, epoch=2, last_epoch=1, end_offset=1).granted


def test_a_request_of_another_cluster_is_refused():
    host = host_of_three()
    message = BeginQuorumEpochRequest(epoch=1, leader_id=2, cluster_id="other")
    assert host.ask(message).error is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert host.raft.role.epoch == 0


def test_a_voter_flushes_its_log_before_it_asks_for_votes():
    """If it didn't, a crash could leave it with a vote for a log that it no longer has."""
    host = host_of_three()
    begin(host, 2, epoch=1)
    host.flushes_late = True
    send = host.take(FetchRequest)[0]
    host.answer(send, FetchResponse(epoch=1, leader_id=2, batches=(batch(0, 9, 1),)))
    host.after(2000)
    assert isinstance(host.raft.role, Prospective)
    assert host.take(VoteRequest) == []
    host.flush()
    assert {s.message.end_offset for s in host.take(VoteRequest)} == {10}
