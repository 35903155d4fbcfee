"""What strangers can't do to a quorum by connections alone: short forms of real attacks."""

import time

import pytest

from replica.wire.apis.cluster import METADATA
from replica.wire.apis.fetching import FETCH
from replica.wire.frame import framed
from replica.wire.header import WireRequest, encode_request
from tests.replica.node.floods.flooded import CLIENT, FILES, asking, flooded, strangers
from tests.replica.node.running import at

MIB = 1024 * 1024
CLAIM = (16 * MIB).to_bytes(4, "big")
"""The size of the largest frame, and nothing of it."""


@pytest.fixture(scope="module")
def quorum(tmp_path_factory):
    with flooded(tmp_path_factory.mktemp("flooded")) as running:
        yield running


def test_strangers_who_claim_the_largest_frames_delay_nobody(quorum):
    before = quorum.epoch_and_leader(1, 2, 3)
    with strangers(quorum.ports.values(), 20, CLAIM):
        time.sleep(3.5)
        began = time.monotonic()
        quorum.append(CLIENT, b"meanwhile")
        assert time.monotonic() - began < 2
        assert quorum.epoch_and_leader(1, 2, 3) == before


def test_strangers_who_send_all_but_the_end_of_large_frames_delay_nobody(quorum):
    before = quorum.epoch_and_leader(1, 2, 3)
    with strangers(quorum.ports.values(), 20, CLAIM + bytes(MIB)):
        time.sleep(3.5)
        began = time.monotonic()
        quorum.append(CLIENT, bytes(2 * MIB))
        assert time.monotonic() - began < 4
        assert quorum.epoch_and_leader(1, 2, 3) == before


def test_a_quorum_elects_and_writes_its_votes_while_more_strangers_are_there_than_files(quorum):
    epoch, leader = quorum.epoch_and_leader(1, 2, 3)
    others = [node_id for node_id in quorum.ports if node_id != leader]
    ports = [quorum.ports[n] for n in others] + [quorum.metrics[n] for n in others]
    with strangers(ports, FILES):
        quorum.kill(leader)
        try:
            newer, elected = quorum.epoch_and_leader(*others, after=epoch)
            assert elected in others
            assert [quorum.voted_epoch(n) for n in others] == [newer, newer]
            quorum.append(CLIENT, b"under flood")
        finally:
            quorum.start(leader)
    quorum.epoch_and_leader(1, 2, 3)


def test_half_requests_for_metrics_take_no_threads_and_delay_no_scrape(quorum):
    before = quorum.threads(1)
    half = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
    with strangers([quorum.metrics[1]], FILES, half):
        began = time.monotonic()
        assert quorum.measured(1, "raft_current_epoch") >= 1
        assert time.monotonic() - began < 2
        assert quorum.threads(1) <= before + 4


def test_a_voter_says_that_it_takes_fewer_connections_than_it_is_set_to(quorum):
    assert f"{FILES} files" in quorum.said(1)
    assert "max.connections" in quorum.said(1)


@pytest.mark.parametrize("topics", [900, pytest.param(60_000, marks=pytest.mark.slow)])
def test_strangers_who_ask_about_many_topics_depose_no_leader(quorum, topics):
    asked = {"topics": [{"name": "t"}] * topics}
    frame = framed(encode_request(WireRequest(METADATA, 9, 1, None, asked)))
    before = quorum.epoch_and_leader(1, 2, 3)
    with asking(quorum.ports.values(), 8, frame):
        time.sleep(4)
        assert quorum.epoch_and_leader(1, 2, 3) == before
    quorum.append(CLIENT, b"afterwards")


def test_readers_who_take_no_answers_hold_no_more_than_the_limit(quorum):
    for _ in range(4):
        quorum.append(CLIENT, bytes(2 * MIB))
    leader = quorum.epoch_and_leader(1, 2, 3)[1]
    asked = {
        "replicaId": -1,
        "maxWaitMs": 0,
        "minBytes": 1,
        "maxBytes": 8 * MIB,
        "topics": at(FETCH, fetchOffset=0, partitionMaxBytes=8 * MIB),
    }
    fetch = framed(encode_request(WireRequest(FETCH, 12, 1, None, asked)))
    before = quorum.resident_kib(leader)
    with strangers([quorum.ports[leader]], 100, fetch):
        time.sleep(1)
        assert quorum.resident_kib(leader) - before < 400 * 1024
        quorum.append(CLIENT, b"meanwhile")
