"""What a state machine may append, and what becomes of it (scenarios J)."""

import pytest

from replica.errors import UsageError
from replica.raft.inputs import Proposal, Propose, Resign
from replica.raft.leading import NotLeaderError, RecordBatchTooLargeError
from replica.raft.messages import DescribeQuorumRequest, Error, ReplicaState
from replica.types import OffsetAndEpoch
from tests.replica.raft.host import Host, begin, config, elect, fetch, key
from tests.replica.raft.test_high_watermark import leader


def append(host, epoch, *proposals):
    return host.step(Propose(epoch, tuple(proposals)))


@pytest.mark.scenario("J01", "J02")
def test_only_the_leader_of_an_epoch_appends_in_it():
    host = leader(epoch=4)
    with pytest.raises(UsageError):
        append(host, 6, Proposal(1, b"a"))
    with pytest.raises(NotLeaderError):
        append(host, 4, Proposal(1, b"a"))
    host.step(Resign(5))
    with pytest.raises(NotLeaderError):
        append(host, 5, Proposal(1, b"a"))
    fresh = Host(config(1, 1, 2, 3))
    with pytest.raises(NotLeaderError):
        append(fresh, 0, Proposal(1, b"a"))
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


@pytest.mark.scenario("J08", "J10")
def test_batches_get_their_offsets_in_order():
    host = leader(epoch=4)
    effects = append(host, 5, Proposal(3, b"abc"), Proposal(2, b"de"))
    assert [(b.base_offset, b.last_offset, b.epoch) for b in effects.append] == [
        (1, 3, 5),
        (4, 5, 5),
    ]
    assert effects.flush


@pytest.mark.scenario("J19")
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
    assert (described.error, described.leader_id, described.epoch) == (Error.NONE, 1, 1)
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
    assert (response.error, response.leader_id) == (Error.NOT_LEADER_OR_FOLLOWER, 2)


def test_a_replica_without_an_id_reads_but_is_nobody_s_progress():
    host = leader()
    response = fetch(host, -1, 0, last_epoch=0)
    assert len(response.batches) == 1
    assert host.ask(DescribeQuorumRequest()).observers == ()
    assert host.raft.log.position == OffsetAndEpoch(1, 1)
