"""A leader's answers to fetches, and what a follower does with them (scenarios B, J17)."""

from dataclasses import replace

import pytest

from replica.history.truncation import TruncationBelowHighWatermarkError
from replica.model.epochs import BOOTSTRAP_SNAPSHOT, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.raft.dispatch import ClusterAuthorizationError
from replica.raft.inputs import Flushed, Request, Resign, Response
from replica.raft.messages import FetchRequest, FetchResponse, VoteRequest, VoteResponse
from replica.raft.mistakes import Offence
from replica.raft.roles import Candidate, Follower, Leader, Prospective, Unattached
from tests.replica.raft.host import Host, batch, begin, config, elect, fetch, key, voter
from tests.replica.raft.test_high_watermark import deliver, follower, leader

THREE_EPOCHS = tuple(batch(base, base + 2, epoch) for base, epoch in ((0, 1), (3, 3), (6, 5)))


OLD_17 = (batch(0, 16, 9),)


def park(host, node_id, offset, request_id, **changes):
    """Let a replica fetch at the log end and wait. host.replies gets the answer later."""
    request = FetchRequest(
        replica=key(node_id),
        epoch=host.raft.role.epoch,
        fetch_offset=offset,
        last_fetched_epoch=host.raft.role.epoch,
        max_wait_ms=500,
        **changes,
    )
    host.step(Request(request_id, request))


@pytest.mark.scenario("B01")
def test_a_diverging_fetch_is_answered_at_once_without_records():
    host = leader(log=THREE_EPOCHS, epoch=5)
    response = fetch(host, 2, 6, last_epoch=2, max_wait_ms=500)
    assert response.diverging == OffsetAndEpoch(3, 1)
    assert response.batches == ()


@pytest.mark.scenario("B03", "B04")
@pytest.mark.parametrize(
    ("offset", "epoch", "diverging"), [(4, 1, (3, 1)), (7, 3, (6, 3)), (12, 5, (9, 5))]
)
def test_a_follower_past_the_end_of_its_epoch_is_told_where_that_was(offset, epoch, diverging):
    host = leader(log=THREE_EPOCHS, epoch=5)
    assert fetch(host, 2, offset, last_epoch=epoch).diverging == OffsetAndEpoch(*diverging)


@pytest.mark.scenario("B13")
def test_a_valid_fetch_gets_records_from_its_offset_on():
    host = leader(log=THREE_EPOCHS, epoch=5)
    response = fetch(host, 2, 3, last_epoch=1)
    assert [b.base_offset for b in response.batches] == [3, 6, 9]


@pytest.mark.scenario("B14")
@pytest.mark.parametrize(
    "wrong", [{"fetch_offset": -1}, {"last_fetched_epoch": -1}, {"max_wait_ms": -1}]
)
def test_an_impossible_fetch_is_refused_counted_and_moves_nothing(wrong):
    host = leader()
    before = host.raft.role
    request = {"replica": key(2), "epoch": 1, "fetch_offset": 1, "last_fetched_epoch": 1}
    response = host.ask(FetchRequest(**{**request, **wrong}))
    assert response.error is ErrorCode.INVALID_REQUEST
    assert host.raft.role == before
    assert sum(host.raft.illegal_messages.values()) == 1


@pytest.mark.scenario("B14", "B32")
def test_a_fetch_whose_last_epoch_is_above_its_leader_epoch_is_refused():
    host = leader()
    assert fetch(host, 2, 1, last_epoch=2).error is ErrorCode.INVALID_REQUEST


def test_a_fetch_in_the_leader_s_own_name_is_refused():
    host = leader()
    assert fetch(host, 1, 1).error is ErrorCode.INVALID_REQUEST


@pytest.mark.scenario("B15")
def test_a_fetch_of_another_leader_epoch_is_refused_and_changes_no_epoch():
    host = leader(epoch=4)
    newer = fetch(host, 2, 0, last_epoch=0, epoch=6)
    older = fetch(host, 2, 0, last_epoch=0, epoch=4)
    assert (newer.error, newer.epoch, newer.leader_id) == (ErrorCode.UNKNOWN_LEADER_EPOCH, 5, 1)
    assert (older.error, older.epoch, older.leader_id) == (ErrorCode.FENCED_LEADER_EPOCH, 5, 1)
    assert host.raft.role.epoch == 5
    assert key(2) not in host.raft.role.progress


@pytest.mark.scenario("B34")
def test_a_follower_serves_no_fetch_and_checks_the_epoch_first():
    host = follower(epoch=3)
    same, newer, older = (fetch(host, 3, 0, last_epoch=0, epoch=e) for e in (3, 4, 2))
    assert (same.error, same.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2)
    assert newer.error is ErrorCode.UNKNOWN_LEADER_EPOCH
    assert older.error is ErrorCode.FENCED_LEADER_EPOCH


@pytest.mark.scenario("B17")
def test_a_follower_that_truncated_fetches_again_from_its_new_log_end():
    host = follower(epoch=3)
    deliver(host, batches=tuple(batch(n, n, 3) for n in range(3)))
    deliver(host, diverging=OffsetAndEpoch(2, 3))
    assert (host.disk.log_end, host.raft.log.flushed_end) == (2, 2)
    again = host.take(FetchRequest)[0].message
    assert (again.fetch_offset, again.last_fetched_epoch) == (2, 3)


@pytest.mark.scenario("B18")
def test_a_truncation_below_the_high_watermark_is_fatal_and_cuts_nothing():
    host = follower(end=10)
    deliver(host, high_watermark=10)
    with pytest.raises(TruncationBelowHighWatermarkError):
        deliver(host, diverging=OffsetAndEpoch(5, 1))
    assert (host.disk.log_end, host.raft.high_watermark) == (10, 10)


@pytest.mark.parametrize("wrong", [(-1, 0), (0, -1)])
def test_a_diverging_epoch_of_impossible_numbers_cuts_nothing(wrong):
    host = follower(end=3)
    deliver(host, diverging=OffsetAndEpoch(*wrong))
    assert host.disk.log_end == 3
    assert sum(host.raft.illegal_messages.values()) == 1


def fetches_in_a_millisecond(host, **answer):
    """How often `host` fetches from a leader that gives this answer to each fetch, all within a
    millisecond."""
    count = 0
    while sends := host.take(FetchRequest):
        count += 1
        assert count < 100, "it fetches without end"
        host.answer(sends[0], FetchResponse(epoch=1, leader_id=2, **answer))
    return count


@pytest.mark.parametrize(
    ("answer", "mistakes"),
    [
        ({"high_watermark": 3}, []),
        ({"diverging": OffsetAndEpoch(3, 1)}, ["a diverging epoch that cuts nothing"]),
        ({"snapshot_id": OffsetAndEpoch(3, 1)}, ["a snapshot that needs no fetch"]),
        ({"snapshot_id": BOOTSTRAP_SNAPSHOT}, ["a snapshot that needs no fetch"]),
    ],
    ids=lambda answer: next(iter(answer), "nothing"),
)
def test_a_leader_whose_answer_brings_nothing_is_asked_again_only_after_a_pause(answer, mistakes):
    host = follower(end=3)
    deliver(host, high_watermark=3)
    assert host.snapshot() == OffsetAndEpoch(3, 1)
    host.after(10)
    trusted_until = host.raft.role.fetch_deadline
    assert fetches_in_a_millisecond(host, **answer) == 1
    illegal = {Offence(mistake, 2, "FetchResponse"): 1 for mistake in mistakes}
    assert host.raft.illegal_messages == illegal
    is_renewed = host.raft.role.fetch_deadline > trusted_until
    assert is_renewed == (not illegal), "only a correct leader's answer renews the fetch timeout"
    host.after(20)
    assert len(host.take(FetchRequest)) == 1


@pytest.mark.scenario("B19")
def test_a_truncation_within_a_batch_removes_all_of_it_and_the_next_fetch_starts_there():
    host = follower()
    deliver(host, batches=(batch(0, 1, 1), batch(2, 2, 1)))
    deliver(host, diverging=OffsetAndEpoch(1, 1))
    assert host.disk.log_end == 0
    assert host.take(FetchRequest)[0].message.fetch_offset == 0


@pytest.mark.scenario("B20")
@pytest.mark.parametrize("becomes", [Prospective, Candidate])
def test_a_candidate_ignores_fetched_records(becomes):
    host = follower()
    late = host.take(FetchRequest)[0]
    host.after(1000)  # the fetch is asked again, and the time of that one not over
    late = host.take(FetchRequest)[-1]
    host.after(1000)
    if becomes is Candidate:
        host.answer(host.take(VoteRequest)[0], VoteResponse(epoch=1, granted=True))
    role = host.raft.role
    assert isinstance(role, becomes)
    host.answer(late, FetchResponse(epoch=1, leader_id=2, batches=(batch(0, 0, 1),)))
    assert (host.disk.batches, host.raft.role) == ([], role)


@pytest.mark.scenario("B21")
def test_late_records_of_an_earlier_leader_are_ignored():
    host = follower()
    late = host.take(FetchRequest)[0]
    begin(host, 3, epoch=2)
    host.answer(late, FetchResponse(epoch=1, leader_id=2, batches=(batch(0, 0, 1),)))
    assert host.disk.batches == []
    assert host.raft.role.leader_id == 3


@pytest.mark.scenario("J19")
def test_waiting_fetches_are_answered_each_when_what_it_waits_for_is_there_or_its_time_over():
    host = leader()
    host.propose(b"a", b"b")
    host.after(100)
    for known in (1, 2, 3):
        park(host, 9, 3, known, high_watermark=known)
    assert list(host.replies) == []
    fetch(host, 2, 3)
    assert sorted(host.replies) == [1, 2]
    assert {r.high_watermark for r in host.replies.values()} == {3}
    host.after(300)
    park(host, 8, 3, "later", high_watermark=3)
    host.after(200)
    assert sorted(host.replies, key=str) == [1, 2, 3]
    host.step(Resign(1))
    assert host.replies["later"].error is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.scenario("B22")
def test_a_fetch_at_the_log_end_is_answered_empty_when_its_time_is_over():
    host = leader()
    park(host, 2, 1, "parked")
    assert host.replies == {}
    host.after(499)
    assert host.replies == {}
    host.after(1)
    response = host.replies["parked"]
    assert (response.error, response.batches, response.high_watermark) == (ErrorCode.NONE, (), 1)


@pytest.mark.scenario("B23")
def test_a_waiting_fetch_gets_new_records_at_once_though_uncommitted():
    host = leader()
    park(host, 2, 1, "parked")
    host.propose(b"a")
    response = host.replies["parked"]
    assert [b.data for b in response.batches] == [b"a"]
    assert response.high_watermark == 1


def test_a_waiting_fetch_learns_of_a_newer_high_watermark_if_it_says_what_it_knows():
    host = leader()
    park(host, 2, 1, "old version")
    park(host, 2, 1, "knows none", high_watermark=-1)
    assert host.replies["knows none"].high_watermark == 1
    assert "old version" not in host.replies
    host.propose(b"a")
    host.replies.clear()
    park(host, 3, 2, "knows one", high_watermark=1)
    assert host.replies["knows one"].high_watermark == 2
    park(host, 3, 2, "up to date", high_watermark=2)
    assert "up to date" not in host.replies


@pytest.mark.scenario("B24", "B25")
@pytest.mark.parametrize("why", ["another leader", "resigned"])
def test_a_waiting_fetch_is_refused_when_the_leader_loses_its_leadership(why):
    host = leader()
    park(host, 2, 1, "parked")
    if why == "resigned":
        host.step(Resign(1))
    else:
        begin(host, 3, epoch=2)
    response = host.replies["parked"]
    assert (response.error, response.batches) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, ())
    assert (response.epoch, response.leader_id) == ((1, 1) if why == "resigned" else (2, 3))


@pytest.mark.scenario("B26")
@pytest.mark.parametrize(
    "wrong",
    [
        (batch(4, 4, 1),),
        (batch(2, 4, 1),),
        (batch(3, 3, 9),),
        (batch(3, 3, 1), batch(5, 5, 1)),
        (batch(3, 3, 0),),
    ],
    ids=["gap", "overlap", "future epoch", "gap inside", "older epoch"],
)
def test_records_that_don_t_continue_the_log_are_illegal(wrong):
    host = follower(end=3)
    deliver(host, batches=wrong)
    assert host.disk.log_end == 3
    assert sum(host.raft.illegal_messages.values()) == 1


@pytest.mark.scenario("B31")
def test_a_leader_s_epoch_begins_at_its_leader_change_record():
    host = leader(log=OLD_17, epoch=9)
    assert fetch(host, 2, 18, last_epoch=10).error is ErrorCode.NONE
    assert fetch(host, 2, 19, last_epoch=10).diverging == OffsetAndEpoch(18, 10)


@pytest.mark.scenario("B40")
def test_a_leader_that_lags_behind_in_epochs_is_asked_again_later():
    host = follower(epoch=4)
    host.answer(
        host.take(FetchRequest)[0], FetchResponse(error=ErrorCode.UNKNOWN_LEADER_EPOCH, epoch=3)
    )
    assert isinstance(host.raft.role, Follower)
    assert host.take(FetchRequest) == []
    host.after(20)
    deliver(host, batches=(batch(0, 0, 4),))
    assert host.disk.log_end == 1


def test_a_voter_whose_fetch_fails_asks_its_leader_again_and_nobody_else():
    host = Host(config(1, 1, 2, 3, bootstrap_ids=(-2, -3)))
    begin(host, 2, epoch=5)
    for _ in range(3):
        (send,) = host.take(FetchRequest)
        assert send.node_id == 2
        host.fail(send)
        host.after(host.config.retry_backoff_ms)


@pytest.mark.scenario("B41")
def test_a_fenced_follower_learns_the_newer_epoch():
    host = follower(end=3, epoch=4)
    answer = FetchResponse(error=ErrorCode.FENCED_LEADER_EPOCH, epoch=6)
    host.answer(host.take(FetchRequest)[0], answer)
    assert (type(host.raft.role), host.raft.role.epoch) == (Unattached, 6)
    host.after(500)
    assert {send.message.epoch for send in host.take(FetchRequest)} == {6}
    assert host.disk.log_end == 3


@pytest.mark.scenario("B42")
def test_records_beside_a_diverging_epoch_are_not_appended():
    host = follower(end=3)
    deliver(host, diverging=OffsetAndEpoch(0, 1), batches=(batch(3, 3, 1),))
    assert host.disk.log_end == 0


@pytest.mark.scenario("B47")
def test_an_answer_that_nobody_waits_for_is_ignored():
    host = follower()
    send = host.take(FetchRequest)[0]
    host.answer(replace(send, correlation_id=99), FetchResponse(epoch=9, leader_id=3))
    assert host.raft.role.epoch == 1
    host.answer(send, FetchResponse(epoch=1, leader_id=2, batches=(batch(0, 0, 1),)))
    host.answer(send, FetchResponse(epoch=9, leader_id=3))
    assert host.raft.role.epoch == 1


@pytest.mark.scenario("B48")
@pytest.mark.parametrize("answered", [True, False])
def test_a_peer_that_denies_authorization_is_fatal(answered):
    host = follower()
    send = host.take(FetchRequest)[0]
    refusal = FetchResponse(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, epoch=1)
    with pytest.raises(ClusterAuthorizationError):
        host.answer(send, refusal) if answered else host.fail(send, error=refusal.error)


def test_an_answer_that_names_a_second_leader_of_the_epoch_is_illegal():
    host = follower()
    deliver(host, leader_id=3, batches=(batch(0, 0, 1),))
    assert host.disk.batches == []
    assert host.raft.role.leader_id == 2
    assert sum(host.raft.illegal_messages.values()) == 1


@pytest.mark.scenario("J17")
@pytest.mark.parametrize("node_id", [1, 9])
def test_a_voter_and_an_observer_flush_before_they_fetch_on(node_id):
    host = Host(config(node_id, 1, 2, 3))
    asked_before = host.take(FetchRequest)
    begin(host, 2, epoch=1)
    for send in asked_before:
        host.fail(send)
    send = host.take(FetchRequest)[0]
    records = FetchResponse(epoch=1, leader_id=2, batches=(batch(0, 0, 1),))
    effects = host.raft.step(Response(2, send.correlation_id, records), host.now)
    assert effects.append
    assert effects.sends == []
    (fetched,) = host.raft.step(Flushed(1), host.now).sends
    assert fetched.message.fetch_offset == 1


def test_an_answer_is_limited_by_the_leader_s_and_the_follower_s_bytes():
    host = Host(config(1, 1, 2, 3, response_max_bytes=25))
    elect(host)
    host.propose(*[b"0123456789"] * 5)
    assert len(fetch(host, 2, 1).batches) == 2
    assert len(fetch(host, 2, 1, max_bytes=10).batches) == 1
    assert len(fetch(host, 2, 1, max_bytes=1).batches) == 1


def test_a_leader_s_endpoints_travel_with_its_answers():
    host = leader()
    assert fetch(host, 2, 1).leader_endpoints == voter(1).endpoints
    assert isinstance(host.raft.role, Leader)
