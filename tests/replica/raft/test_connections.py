"""One request in flight for each peer, pauses after failures, bootstrap servers in turn."""

import pytest

from replica.model.keys import ReplicaKey
from replica.raft.config import FOREVER
from replica.raft.connections import PeerConnections
from replica.raft.messages import DescribeQuorumRequest, FetchRequest

ASK = DescribeQuorumRequest()
"""Any request."""


def connections():
    return PeerConnections(request_timeout_ms=500, retry_backoff_ms=20)


def test_a_peer_is_ready_again_when_it_answered_or_its_time_is_over():
    peers = connections()
    first = peers.sent(2, now_ms=0, request=ASK)
    assert peers.asked(2) is ASK
    assert not peers.is_ready(2, 499)
    assert peers.is_ready(2, 500)
    assert peers.is_ready(3, 0)
    peers.forget(2)
    assert peers.is_ready(2, 100)
    assert peers.asked(2) is None
    assert not peers.expects(2, first, 100)


def test_a_peer_that_failed_is_left_alone_for_a_while():
    peers = connections()
    peers.sent(2, now_ms=0, request=ASK)
    peers.pause(2, 100)
    assert peers.is_backing_off(2, 119)
    assert peers.ready_at(2) == 120
    assert not peers.is_backing_off(2, 120)


def test_the_same_request_is_not_sent_again_before_a_pause_even_if_it_was_answered():
    peers = connections()
    fetch, next_fetch = (
        FetchRequest(replica=ReplicaKey(1), epoch=1, fetch_offset=offset, last_fetched_epoch=1)
        for offset in (4, 5)
    )
    peers.sent(2, now_ms=100, request=fetch)
    assert peers.sendable_at(2, next_fetch) == 600
    peers.forget(2)
    assert peers.sendable_at(2, fetch) == 120
    assert peers.sendable_at(2, next_fetch) <= 100
    assert peers.sendable_at(3, fetch) <= 100
    peers.sent(2, now_ms=110, request=ASK)
    peers.forget(2)
    assert peers.sendable_at(2, fetch) == 120, "a request of another kind lies between"
    peers.reset()
    assert peers.sendable_at(2, fetch) == 0


@pytest.mark.scenario("B47")
def test_an_answer_is_expected_in_time_and_to_the_last_request_alone():
    peers = connections()
    first = peers.sent(2, now_ms=0, request=ASK)
    assert peers.expects(2, first, 499)
    assert not peers.expects(2, first, 500)
    assert peers.has_timed_out(2, 500)
    second = peers.sent(2, now_ms=500, request=ASK)
    assert not peers.expects(2, first, 600)
    assert peers.expects(2, second, 600)
    peers.reset()
    assert not peers.expects(2, second, 600)


def test_bootstrap_servers_are_asked_one_at_a_time_from_a_drawn_one_on():
    peers = connections()
    servers = (-2, -3, -4)
    assert peers.ready_bootstrap(servers, 0, lambda bound: bound - 1) == -4
    peers.sent(-4, now_ms=0, request=ASK)
    assert peers.ready_bootstrap(servers, 100, lambda bound: 0) is None
    assert peers.next_bootstrap_at(servers, 100) == 500
    peers.pause(-4, 100)
    assert peers.ready_bootstrap(servers, 100, lambda bound: bound - 1) == -2
    assert connections().ready_bootstrap((), 0, lambda bound: 0) is None
    assert connections().next_bootstrap_at((), 0) == FOREVER
