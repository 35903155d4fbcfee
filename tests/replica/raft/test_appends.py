"""The appends of a leader's state machine: which are allowed, when they are written and committed
(scenarios J)."""

import pytest

from replica.errors import UsageError
from replica.format.record import batch_size
from replica.model.control import KRaftVoters
from replica.model.epochs import OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode
from replica.raft.inputs import Append, Proposal, Propose, Resign
from replica.raft.leader.accumulator import BufferAllocationError
from replica.raft.leader.leading import NotLeaderError, RecordBatchTooLargeError
from replica.raft.messages import DescribeQuorumRequest, RemoveVoterRequest, ReplicaState
from replica.raft.roles import Resigned, Unattached
from tests.replica.raft.host import (
    Host,
    begin,
    bootstrapped,
    config,
    dynamic,
    elect,
    fetch,
    key,
    vote,
)
from tests.replica.raft.test_high_watermark import leader

LINGER = 25


def append(host, epoch, *proposals):
    return host.step(Propose(epoch, tuple(proposals)))


def data(host):
    return [batch.data for batch in host.disk.batches if not batch.control]


def proposal_of(epoch):
    return Propose(epoch, (Proposal(1, b"a"),))


def records_of(epoch):
    return Append(epoch, (b"a",))


@pytest.mark.scenario("J01", "J02")
@pytest.mark.parametrize("asked", [proposal_of, records_of])
def test_only_the_leader_of_an_epoch_appends_in_it(asked):
    host = leader(epoch=4)
    with pytest.raises(UsageError):
        host.step(asked(6))
    with pytest.raises(NotLeaderError):
        host.step(asked(4))
    host.step(Resign(5))
    assert isinstance(host.raft.role, Resigned)
    with pytest.raises(NotLeaderError):
        host.step(asked(5))
    fresh = Host(config(1, 1, 2, 3))
    assert isinstance(fresh.raft.role, Unattached)
    with pytest.raises(NotLeaderError):
        fresh.step(asked(0))
    host.after(100)
    assert host.disk.log_end == 1


@pytest.mark.scenario("J03")
def test_a_batch_that_is_too_large_appends_nothing_of_the_call():
    host = Host(config(1, 1, 2, 3, max_batch_bytes=4))
    elect(host)
    with pytest.raises(RecordBatchTooLargeError):
        append(host, 1, Proposal(1, b"1234"), Proposal(1, b"12345"))
    assert host.disk.log_end == 1
    append(host, 1, Proposal(1, b"1234"))
    assert host.disk.log_end == 2


@pytest.mark.scenario("J03")
def test_records_that_fit_into_no_batch_are_refused_and_nothing_waits():
    limit = batch_size([b"1234"])
    host = Host(config(1, 1, 2, 3, max_batch_bytes=limit))
    elect(host)
    with pytest.raises(RecordBatchTooLargeError, match=f"{limit + 1} bytes, at most {limit}"):
        host.append(b"12345")
    host.after(LINGER)
    assert host.disk.log_end == 1
    host.append(b"1234")
    host.after(LINGER)
    assert data(host) == [b"1234"]


@pytest.mark.scenario("J06")
def test_the_first_append_is_written_when_its_linger_is_over_and_not_before():
    host = leader()
    host.append(b"a")
    assert host.raft.next_deadline() == host.now + LINGER
    host.after(10)
    assert host.raft.next_deadline() == host.now + LINGER - 10
    host.after(LINGER - 11)
    assert host.disk.log_end == 1
    host.after(1)
    assert data(host) == [b"a"]
    assert host.disk.flushed == 2


def committed_leader(**changes):
    """Node 1 leads voters 1 to 3, and all of its log is committed."""
    host = Host(config(1, 1, 2, 3, **changes))
    elect(host)
    fetch(host, 2, host.disk.log_end)
    assert host.raft.high_watermark == host.disk.log_end == 1
    return host


def test_a_record_is_written_at_once_where_all_before_it_is_committed():
    host = committed_leader()
    host.append(b"a")
    assert data(host) == [b"a"]


def test_records_wait_while_one_is_uncommitted_and_its_commit_writes_them_in_one_batch():
    host = committed_leader()
    for value in (b"a", b"b", b"c"):
        host.append(value)
    assert data(host) == [b"a"]
    host.after(LINGER - 1)
    assert data(host) == [b"a"]
    response = fetch(host, 2, 2)
    assert data(host) == [b"a", b"bc"]
    assert [batch.data for batch in response.batches] == [b"bc"], "the same fetch gets them"


def test_records_wait_for_a_slow_commit_no_longer_than_the_linger():
    host = committed_leader()
    host.append(b"a")
    host.append(b"b")
    host.after(LINGER)
    assert (data(host), host.raft.high_watermark) == ([b"a", b"b"], 1)


def test_a_leader_that_was_told_so_waits_for_the_end_of_the_linger_though_all_is_committed():
    host = committed_leader(append_when_idle=False)
    host.append(b"a")
    host.after(LINGER - 1)
    assert data(host) == []
    host.after(1)
    assert data(host) == [b"a"]


def test_a_leader_that_is_about_to_resign_writes_no_more_records():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    elect(host)
    fetch(host, 2, host.disk.log_end)
    host.ask(RemoveVoterRequest(voter=key(1)))
    host.append(b"a")
    before = host.disk.log_end
    fetch(host, 2, before)
    fetch(host, 3, before)
    assert isinstance(host.raft.role, Resigned)
    assert host.disk.log_end == before


@pytest.mark.scenario("J07")
def test_an_append_after_the_linger_is_written_at_once_with_what_waited():
    host = leader()
    host.append(b"a")
    host.now += LINGER  # the loop was busy elsewhere
    host.append(b"b")
    assert data(host) == [b"ab"]


@pytest.mark.scenario("J08")
def test_appends_know_their_offsets_before_they_are_written_in_one_batch():
    host = leader(epoch=4)
    appends = ([b"a"], [b"b", b"c"], [b"d", b"e", b"f"])
    last = [host.append(*values) + len(values) - 1 for values in appends]
    assert (last, data(host)) == ([1, 3, 6], [])
    host.after(LINGER)
    (written,) = host.disk.batches[1:]
    assert (written.base_offset, written.last_offset, written.epoch) == (1, 6, 5)


@pytest.mark.scenario("J09")
def test_a_control_record_goes_behind_the_records_that_wait():
    host = Host(dynamic(config(1)), bootstrapped(1, 2, 3))
    elect(host)
    base = host.disk.log_end
    fetch(host, 2, base)
    assert host.append(b"a") == base
    host.ask(RemoveVoterRequest(voter=key(3)))
    first, control = host.disk.batches[-2:]
    assert first.data == b"a"
    assert isinstance(control.control[0], KRaftVoters)
    assert [first.base_offset, control.base_offset] == [base, base + 1]
    assert host.raft.next_append_offset == base + 2


def test_encoded_batches_go_behind_the_records_that_wait():
    host = leader()
    host.append(b"a")
    host.propose(b"b")
    assert [(b.base_offset, b.data) for b in host.disk.batches[1:]] == [(1, b"a"), (2, b"b")]


@pytest.mark.scenario("J04")
def test_no_more_batches_wait_than_may_and_the_rest_is_refused_until_some_are_written():
    host = Host(config(1, 1, 2, 3, max_batch_bytes=batch_size([b"a"]), max_pending_batches=2))
    elect(host)
    host.append(b"a")
    host.append(b"b")
    with pytest.raises(BufferAllocationError):
        host.append(b"c")
    host.after(LINGER)
    host.append(b"c")
    host.after(LINGER)
    assert data(host) == [b"a", b"b", b"c"]


@pytest.mark.scenario("J05")
@pytest.mark.parametrize("how", ["follows", "votes", "unattached", "resigns", "too late"])
def test_records_that_wait_are_dropped_with_the_leadership(how):
    host = leader()
    host.append(b"lost")
    host.append(b"too")
    if how == "follows":
        begin(host, 2, epoch=2)
    elif how == "votes":
        assert vote(host, 2, epoch=2, last_epoch=1, end_offset=1).granted
    elif how == "unattached":
        assert not vote(host, 2, epoch=2).granted
    elif how == "resigns":
        host.step(Resign(1))
    else:
        host.now += LINGER  # due in the same step
        host.step(Resign(1))
    host.after(10_000)
    assert data(host) == []
    assert host.raft.next_append_offset == host.disk.log_end


@pytest.mark.scenario("J16")
def test_a_lone_voter_commits_its_leader_change_then_one_batch_of_what_was_appended():
    host = Host(config(1, 1, append_when_idle=False))
    elect(host)
    for value in (b"a", b"b", b"c"):
        host.append(value)
    host.after(LINGER)
    assert host.raft.high_watermark == 4
    first, second = fetch(host, 9, 0, last_epoch=0).batches
    assert first.control
    assert (second.base_offset, second.last_offset, second.data) == (1, 3, b"abc")


def test_encoded_batches_get_their_offsets_in_order():
    host = leader(epoch=4)
    effects = append(host, 5, Proposal(3, b"abc"), Proposal(2, b"de"))
    assert [(b.base_offset, b.last_offset, b.epoch) for b in effects.append] == [
        (1, 3, 5),
        (4, 5, 5),
    ]


def test_commits_come_in_the_order_of_the_log_as_far_as_they_are_replicated():
    host = leader()
    append(host, 1, Proposal(1, b"a"), Proposal(2, b"b"), Proposal(2, b"c"))
    fetch(host, 2, 4)
    assert host.applied == [(1, b"a"), (2, b"b")]
    fetch(host, 2, 6)
    assert host.applied[-1] == (4, b"c")


def test_the_leader_describes_its_quorum():
    host = leader()
    host.after(100)
    fetch(host, 2, 1)
    host.propose(b"a")
    host.after(100)
    fetch(host, 9, 1)
    described = host.ask(DescribeQuorumRequest())
    assert (described.error, described.leader_id, described.epoch) == (ErrorCode.NONE, 1, 1)
    assert described.high_watermark == 1
    assert described.voters == (
        ReplicaState(key(1), 2, -1, 1200),
        ReplicaState(key(2), 1, 1100, 1100),
        ReplicaState(key(3), -1, -1, -1),
    )
    assert described.observers == (ReplicaState(key(9), 1, 1200, -1),)


def test_a_replica_was_caught_up_when_it_fetched_what_was_the_end_at_its_fetch_before():
    host = leader()
    host.after(100)
    fetch(host, 2, 0, last_epoch=0)
    host.propose(b"a")
    host.after(100)
    fetch(host, 2, 1)
    described = host.ask(DescribeQuorumRequest())
    assert described.voters[1] == ReplicaState(key(2), 1, 1200, 1100)


def test_idle_observers_are_forgotten():
    host = leader(1)
    fetch(host, 9, 1)
    host.after(299_999)
    assert len(host.ask(DescribeQuorumRequest()).observers) == 1
    host.after(1)
    assert host.ask(DescribeQuorumRequest()).observers == ()


def test_only_the_leader_describes_the_quorum():
    host = Host(config(1, 1, 2, 3))
    begin(host, 2, epoch=1)
    response = host.ask(DescribeQuorumRequest())
    assert (response.error, response.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2)


def test_a_replica_without_an_id_gets_records_but_is_not_described():
    host = leader()
    response = fetch(host, -1, 0, last_epoch=0)
    assert len(response.batches) == 1
    assert host.ask(DescribeQuorumRequest()).observers == ()
    assert host.raft.log.position == OffsetAndEpoch(1, 1)
