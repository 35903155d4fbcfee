"""Epochs that no election explains are refused, and no epoch exceeds an int32."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.format import quorum_state
from replica.model.control import KRaftVoters
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.model.stored import ElectionState
from replica.raft.epoch_bounds import MAX_EPOCH, MOST_AT_ONCE, MS_EACH
from replica.raft.messages import (
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from replica.raft.mistakes import Mistake
from replica.raft.roles import Follower, Leader, Unattached
from tests.replica.raft.host import (
    Disk,
    Host,
    batch,
    begin,
    bootstrapped,
    config,
    dynamic,
    elect,
    fetch,
    key,
    vote,
    voter,
    voters,
)

ENDPOINTS = voter(2).endpoints


def static_voter():
    return Host(config(1, 1, 2, 3))


def dynamic_voter():
    return Host(dynamic(config(1)), bootstrapped(1, 2, 3))


def dynamic_leader():
    """The leader of epoch 1, from which the other voters have fetched."""
    host = dynamic_voter()
    elect(host)
    fetch(host, 2, host.disk.log_end)
    fetch(host, 3, host.disk.log_end)
    return host


def ask_vote(host, sender, epoch, **changes):
    return vote(host, sender, epoch, **changes)


def ask_pre_vote(host, sender, epoch, **changes):
    return vote(host, sender, epoch, pre_vote=True, **changes)


def ask_begin(host, sender, epoch):
    return begin(host, sender, epoch, leader_endpoints=ENDPOINTS)


def ask_end(host, sender, epoch):
    return host.ask(EndQuorumEpochRequest(epoch=epoch, leader_id=sender))


REQUESTS = pytest.mark.parametrize("ask", [ask_vote, ask_pre_vote, ask_begin, ask_end])
MESSAGE_OF = {
    ask_vote: "VoteRequest",
    ask_pre_vote: "VoteRequest",
    ask_begin: "BeginQuorumEpochRequest",
    ask_end: "EndQuorumEpochRequest",
}


def offences(host):
    """The illegal messages, each of which has come once: mistake, sender and message."""
    assert set(host.raft.illegal_messages.values()) <= {1}
    return [(each.mistake, each.sender, each.message) for each in host.raft.illegal_messages]


VOTERS = pytest.mark.parametrize("made", [static_voter, dynamic_voter])


@VOTERS
@REQUESTS
@pytest.mark.parametrize("epoch", [MOST_AT_ONCE + 1000, 2**31 - 1, 2**31, 2**63 - 1])
def test_an_epoch_that_no_election_explains_is_refused(made, ask, epoch):
    host = made()
    elect(host)
    assert ask(host, 2, epoch).error is ErrorCode.INVALID_REQUEST
    assert host.raft.role.epoch == 1
    assert isinstance(host.raft.role, Leader)
    assert host.disk.state.epoch == 1
    assert offences(host) == [(Mistake.UNEXPLAINED_EPOCH, 2, MESSAGE_OF[ask])]


@VOTERS
@REQUESTS
def test_epochs_rise_no_faster_than_elections_however_many_requests_come(made, ask):
    host = made()
    for _ in range(5):
        ask(host, 2, host.raft.role.epoch + MOST_AT_ONCE - 1)
    assert host.raft.role.epoch < 2 * MOST_AT_ONCE
    host.after(10_000)
    known = host.raft.role.epoch
    ask(host, 2, known + 10_000 // MS_EACH + 2)
    assert host.raft.role.epoch <= known + 1
    ask(host, 2, known + 10_000 // MS_EACH - 5)
    assert host.raft.role.epoch == known + 10_000 // MS_EACH - 5


@REQUESTS
@pytest.mark.parametrize("epoch", [1, 2])
def test_a_non_voters_request_changes_neither_epoch_nor_leader_of_a_static_quorum(ask, epoch):
    """It may be a voter since an upgrade to kraft.version 1 that this log lacks, so no answer
    would end Kafka's controller."""
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(1)))
    before = host.raft.role
    answer = ask(host, 77, epoch)
    is_vote = ask in (ask_vote, ask_pre_vote)
    assert answer.error is (ErrorCode.NONE if is_vote else ErrorCode.BROKER_NOT_AVAILABLE)
    assert not getattr(answer, "granted", False)
    assert host.raft.role == before
    assert offences(host) == [(Mistake.NO_VOTER, 77, MESSAGE_OF[ask])]


@pytest.mark.parametrize("ask", [ask_begin, ask_end])
def test_a_leader_that_is_no_voter_changes_neither_epoch_nor_leader_of_a_dynamic_quorum(ask):
    host = dynamic_voter()
    before = host.raft.role
    assert ask(host, 77, 1).error is ErrorCode.BROKER_NOT_AVAILABLE
    assert host.raft.role == before


def test_a_leader_that_this_log_does_not_name_yet_is_told_to_come_again():
    """In the epoch of another vote: INVALID_REQUEST would end Kafka's controller."""
    host = dynamic_voter()
    assert ask_vote(host, 2, 1).granted
    assert ask_begin(host, 4, 1).error is ErrorCode.BROKER_NOT_AVAILABLE
    assert host.raft.role.leader_id == -1
    assert not host.raft.illegal_messages


@pytest.mark.parametrize(
    ("ask", "epoch"), [(ask_pre_vote, 0), (ask_pre_vote, 1), (ask_vote, 1), (ask_vote, 2)]
)
def test_a_removed_voter_that_does_not_know_it_gets_no_vote_and_no_error(ask, epoch):
    """INVALID_REQUEST in an answer of the same epoch ends Kafka's controller."""
    host = dynamic_voter()
    answer = ask(host, 77, epoch)
    assert (answer.error, answer.granted, answer.epoch) == (ErrorCode.NONE, False, epoch)
    assert host.raft.role.voted is None
    assert not host.raft.illegal_messages


@pytest.mark.parametrize("ask", [ask_vote, ask_pre_vote])
def test_a_removed_voter_of_a_newer_epoch_raises_the_epoch_of_a_leader(ask):
    """A removed voter can't follow a leader of an older epoch. If the leader kept its epoch, the
    removed voter would never learn from the log that it was removed."""
    host = dynamic_leader()
    answer = ask(host, 77, 5)
    assert (answer.error, answer.granted, answer.epoch) == (ErrorCode.NONE, False, 5)
    assert isinstance(host.raft.role, Unattached)
    assert (host.raft.role.epoch, host.raft.role.voted) == (5, None)
    assert host.disk.state.epoch == 5
    host.after(2000)
    assert host.take(VoteRequest), "it stands in an election again"


@pytest.mark.parametrize("epoch", [0, 1])
def test_a_removed_voter_of_no_newer_epoch_ends_no_leadership(epoch):
    host = dynamic_leader()
    ask_pre_vote(host, 77, epoch)
    assert isinstance(host.raft.role, Leader)
    assert host.raft.role.epoch == 1


def test_a_removed_voter_raises_the_epoch_to_none_that_no_election_explains():
    host = dynamic_leader()
    assert not ask_vote(host, 77, 2 * MOST_AT_ONCE).granted
    assert offences(host) == [(Mistake.UNEXPLAINED_EPOCH, 77, "VoteRequest")]
    assert isinstance(host.raft.role, Leader)


def test_an_observer_does_not_take_over_the_epoch_of_a_removed_voter():
    """An observer stands in no election, so it couldn't tell the newer epoch to the voters."""
    host = Host(dynamic(config(9)), bootstrapped(1, 2, 3))
    assert not ask_vote(host, 77, 5).granted
    assert host.raft.role.epoch == 0


def test_a_non_voter_never_raises_the_epoch_of_a_static_quorum():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(1)))
    known = host.raft.role.epoch
    ask_vote(host, 77, known + 3)
    assert host.raft.role.epoch == known


def test_a_voter_that_this_log_does_not_name_yet_gets_a_vote_for_a_newer_log_and_may_lead():
    host = dynamic_voter()
    assert not ask_vote(host, 4, 1).granted
    granted = ask_vote(host, 4, 2, last_epoch=1, end_offset=9)
    assert granted.granted
    assert begin(host, 4, 2, leader_endpoints=voter(4).endpoints).error is ErrorCode.NONE
    assert host.raft.role.leader_id == 4


@pytest.mark.parametrize("epoch", [MOST_AT_ONCE + 1000, 2**31 - 1, 2**31])
def test_an_answer_with_an_epoch_that_no_election_explains_is_not_believed(epoch):
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(1)))
    host.after(1000)
    (send, *_) = host.take(VoteRequest)
    host.answer(send, VoteResponse(epoch=epoch, leader_id=2, leader_endpoints=ENDPOINTS))
    assert offences(host) == [(Mistake.UNEXPLAINED_EPOCH, send.node_id, "VoteResponse")]
    assert host.raft.role.epoch == 1


def test_a_replica_that_knows_no_epoch_learns_that_of_an_old_quorum():
    host = Host(config(9, 1, 2, 3, bootstrap_ids=(-2,)))
    (send,) = host.take(FetchRequest)
    epoch = 5 * MOST_AT_ONCE
    host.answer(send, FetchResponse(epoch=epoch, leader_id=2, leader_endpoints=ENDPOINTS))
    assert isinstance(host.raft.role, Follower)
    assert host.raft.role.epoch == epoch


@pytest.mark.parametrize(
    ("numbers", "mistake"),
    [
        ({"epoch": -1}, Mistake.VOTE_NUMBERS),
        ({"end_offset": -1}, Mistake.VOTE_NUMBERS),
        ({"last_epoch": -1}, Mistake.VOTE_NUMBERS),
        ({"last_epoch": 1}, Mistake.VOTE_NUMBERS),
        ({"last_epoch": 2, "pre_vote": True}, Mistake.VOTE_NUMBERS),
        ({"candidate": key(-1)}, Mistake.VOTE_WITHOUT_CANDIDATE),
        ({"candidate": key(1)}, Mistake.VOTE_OF_OWN_ID),
        ({"epoch": 0, "pre_vote": True}, None),
        ({"last_epoch": 1, "pre_vote": True}, None),
        ({"candidate": key(0)}, None),
        ({}, None),
    ],
)
def test_a_request_for_a_vote_that_no_candidate_sends_is_an_offence(numbers, mistake):
    host = Host(config(1, 0, 1, 2))
    legal = {"epoch": 1, "candidate": key(2), "last_epoch": 0, "end_offset": 0}
    host.ask(VoteRequest(**{**legal, **numbers}))
    assert [found for found, _, _ in offences(host)] == ([] if mistake is None else [mistake])


@pytest.mark.parametrize("field", ["diverging", "snapshot_id"])
def test_a_diverging_or_snapshot_epoch_above_the_leader_s_own_is_illegal(field):
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, 3, leader_endpoints=ENDPOINTS)
    (send,) = host.take(FetchRequest)
    named = {field: OffsetAndEpoch(5, 2**31 - 1)}
    host.answer(send, FetchResponse(epoch=3, leader_id=2, **named))
    assert offences(host) == [(Mistake.ANSWER_NUMBERS, 2, "FetchResponse")]


def last_epoch(voted):
    return Disk(state=ElectionState(MAX_EPOCH, voted=voted))


@pytest.mark.parametrize("voted", [None, key(2)])
@pytest.mark.parametrize("voter_ids", [(1,), (1, 2, 3)])
def test_no_voter_becomes_candidate_after_the_last_epoch(voted, voter_ids):
    host = Host(config(1, *voter_ids), last_epoch(voted))
    for _ in range(5):
        host.after(2000)
        for send in host.take(VoteRequest):
            host.answer(send, VoteResponse(epoch=MAX_EPOCH, granted=True))
    assert host.raft.role.epoch == MAX_EPOCH
    assert not isinstance(host.raft.role, Leader)
    assert host.restarted().raft.role.epoch == MAX_EPOCH


def test_a_replica_that_led_the_last_epoch_goes_to_no_epoch_after_it():
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(MAX_EPOCH, leader_id=1)))
    host.after(10_000)
    assert host.raft.role.epoch == MAX_EPOCH


@given(epoch=st.integers(0, 2**31 - 1), after_ms=st.integers(0, 60_000))
def test_a_restart_accepts_the_quorum_state_after_any_epoch_of_a_voter(epoch, after_ms):
    host = Host(config(1, 1, 2, 3), Disk(state=ElectionState(MAX_EPOCH - 3)))
    vote(host, 2, epoch)
    begin(host, 3, epoch, leader_endpoints=ENDPOINTS)
    host.after(after_ms)
    state = host.disk.state
    kept = quorum_state.new_state(version=1, leader_id=state.leader_id, leader_epoch=state.epoch)
    assert quorum_state.decode(quorum_state.encode(kept)).leader_epoch == state.epoch
    assert host.restarted().raft.role.epoch == state.epoch


def test_a_follower_of_a_leader_that_is_no_voter_any_more_still_hears_its_resignation():
    host = dynamic_voter()
    begin(host, 2, 1, leader_endpoints=ENDPOINTS)
    without = KRaftVoters(voters(1, 3))
    (send,) = host.take(FetchRequest)
    records = (batch(0, 0, 1, control=(without,)),)
    host.answer(send, FetchResponse(epoch=1, leader_id=2, batches=records, high_watermark=1))
    assert host.raft.log.voters.ids == (1, 3)
    assert ask_end(host, 2, 1).error is ErrorCode.NONE
    assert host.raft.role.has_resigned
