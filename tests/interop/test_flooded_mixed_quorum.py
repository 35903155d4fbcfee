"""Strangers at the voters of kraftlake in a quorum with one of Kafka, which goes on committing."""

import time

import pytest

from replica.wire.apis.quorum import DESCRIBE_QUORUM, VOTE
from replica.wire.frame import framed
from replica.wire.header import Request, encode_request
from tests.interop.mixed_quorum import OURS, TOPIC, MixedQuorum
from tests.replica.node.floods.flooded import asking, strangers

pytestmark = pytest.mark.slow

CLAIM = (16 * 1024 * 1024).to_bytes(4, "big")
"""The size of the largest frame, and nothing of it."""
_HALF_FRAME = CLAIM + bytes(500_000)
_LATEST_EPOCH = 2**31 - 2


def _frame(api, version, partition):
    message = {"topics": [{"topicName": TOPIC, "partitions": [partition]}]}
    return framed(encode_request(Request(api, version, 1, "stranger", message)))


def _bid(epoch):
    """For an election, by a voter that the quorum doesn't have."""
    return {"partitionIndex": 0, "replicaEpoch": epoch, "replicaId": 9, "lastOffset": 2**40}


FLOODS = {
    "claimed frames": lambda ports: strangers(ports, 60, CLAIM),
    "halves of frames": lambda ports: strangers(ports, 20, _HALF_FRAME),
    "questions without end": lambda ports: asking(ports, 6, _frame(DESCRIBE_QUORUM, 1, {})),
    "votes of a stranger": lambda ports: asking(ports, 3, _frame(VOTE, 0, _bid(_LATEST_EPOCH))),
}


@pytest.fixture(scope="module")
def quorum(tmp_path_factory):
    # Elections here are the flood's fault, so a busy machine must not cause any.
    with MixedQuorum(tmp_path_factory.mktemp("mixed"), 2, fetch_timeout_ms=10_000) as running:
        running.leader()
        yield running


@pytest.mark.parametrize("flood", FLOODS)
def test_a_mixed_quorum_commits_under_a_flood(quorum: MixedQuorum, flood: str) -> None:
    ours = [voter.port for voter in quorum.voters.values() if voter.kind == OURS]
    epoch = quorum.leader().election[0]
    before = quorum.committed()
    with FLOODS[flood](ours):
        reached, deadline = before, time.monotonic() + 60
        while reached < before + 300:
            assert time.monotonic() < deadline, f"{reached - before} records within a minute"
            reached = quorum.wait_for_commits(reached)
        assert quorum.leader().election[0] == epoch
    said = quorum.outputs()
    assert "Traceback" not in said


def test_and_elects_another_leader_meanwhile(quorum: MixedQuorum) -> None:
    lost = quorum.leader()
    ours = [v.port for v in quorum.running if v.kind == OURS and v is not lost]
    with strangers(ours, 60, CLAIM):
        epoch = lost.election[0]
        lost.kill()
        try:
            assert quorum.leader(above_epoch=epoch) is not lost
            quorum.wait_for_commits(quorum.committed())
        finally:
            lost.start()
    quorum.wait_for_commits(quorum.committed())
