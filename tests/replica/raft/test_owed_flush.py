"""The core holds back what must wait for a flush. The tests' host checks that at every step."""

import pytest

from replica.raft.follower import fetch_requests
from replica.raft.inputs import Flushed, Response
from replica.raft.messages import FetchRequest, FetchResponse
from replica.raft.roles import Leader
from tests.replica.raft.host import Host, batch, begin, config, elect, fetch

RECORDS = FetchResponse(epoch=1, leader_id=2, batches=(batch(0, 0, 1),), high_watermark=1)


def follower_with_late_flushes():
    host = Host(config(1, 1, 2, 3))
    host.flushes_late = True
    begin(host, 2, epoch=1)
    return host


def leader_with_late_flushes():
    host = Host(config(1, 1, 2, 3))
    elect(host)
    host.flushes_late = True
    host.propose(b"a")
    return host


def test_a_follower_fetches_on_once_the_flush_it_owes_is_done():
    host = follower_with_late_flushes()
    host.answer(host.take(FetchRequest)[0], RECORDS)
    assert host.take(FetchRequest) == []
    host.flush()
    (send,) = host.take(FetchRequest)
    assert send.message.fetch_offset == 1


def test_a_flush_of_a_part_of_the_log_lets_no_fetch_out():
    host = follower_with_late_flushes()
    send = host.take(FetchRequest)[0]
    two = FetchResponse(epoch=1, leader_id=2, batches=(batch(0, 0, 1), batch(1, 1, 1)))
    host.raft.step(Response(2, send.correlation_id, two), host.now)
    assert host.raft.step(Flushed(1), host.now).sends == []
    (fetched,) = host.raft.step(Flushed(2), host.now).sends
    assert fetched.message.fetch_offset == 2


def test_a_leader_counts_its_own_records_once_the_flush_it_owes_is_done():
    host = leader_with_late_flushes()
    fetch(host, 2, 2)
    assert host.raft.high_watermark == 1
    host.flush()
    assert host.raft.high_watermark == 2


def test_the_check_catches_a_follower_that_does_not_wait_for_the_flush(monkeypatch):
    monkeypatch.setattr(fetch_requests, "awaits_flush", lambda core: False)
    host = follower_with_late_flushes()
    send = host.take(FetchRequest)[0]
    with pytest.raises(AssertionError, match="a fetch acknowledges what no flush has kept"):
        host.answer(send, RECORDS)


def test_the_check_catches_a_leader_that_does_not_wait_for_the_flush(monkeypatch):
    counted = Leader.counted
    monkeypatch.setattr(Leader, "counted", lambda role, voters, flushed: counted(role, voters, 99))
    host = leader_with_late_flushes()
    with pytest.raises(AssertionError, match="a commit counts what no flush has kept"):
        fetch(host, 2, 2)
