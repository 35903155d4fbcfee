"""The one reader of DescribeQuorum's answers."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest

from replica.errors import CorruptDataError, UnreachablePeerError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import METADATA_TOPIC, ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoint
from replica.wire.apis.quorum import DESCRIBE_QUORUM
from replica.wire.client import WireResponse
from replica.wire.codec import decode, encode
from replica.wire.describe_quorum import DescribedReplica, query_quorum, read_quorum

REPLICA = Path(__file__).parents[3] / "replica"
DIRECTORY = "qufyMfPsTZ27gBxKC_Me3w"
STATE = {
    **{"replicaId": 1, "replicaDirectoryId": DIRECTORY, "logEndOffset": 9},
    **{"lastFetchTimestamp": 40, "lastCaughtUpTimestamp": 50},
}
LISTENER = {"name": "CONTROLLER", "host": "h", "port": 9093}


def answer(version, *topics, **more):
    said = {"topics": list(topics), **more}
    return decode(
        DESCRIBE_QUORUM.response, version, encode(DESCRIBE_QUORUM.response, version, said)
    )


def topic(*partitions, name=METADATA_TOPIC):
    return {"topicName": name, "partitions": list(partitions)}


def described(index=0, **more):
    return {"partitionIndex": index, "leaderId": 1, "leaderEpoch": 3, "highWatermark": 8, **more}


def test_an_answer_says_how_far_every_replica_is_and_where_it_listens():
    said = described(currentVoters=[STATE], observers=[{**STATE, "replicaId": 2}])
    found = read_quorum(
        answer(2, topic(said), nodes=[{"nodeId": 1, "listeners": [LISTENER]}]), 2, METADATA_TOPIC
    )
    assert (found.error, found.leader_id, found.epoch, found.high_watermark) == (0, 1, 3, 8)
    listeners = (Endpoint("CONTROLLER", "h", 9093),)
    assert found.voters == (DescribedReplica(ReplicaKey(1, DIRECTORY), 9, 40, 50, listeners),)
    assert found.observers == (DescribedReplica(ReplicaKey(2, DIRECTORY), 9, 40, 50, ()),)
    assert found.listeners == {1: listeners}


def test_older_versions_tell_no_times_then_no_directories():
    said = topic(described(currentVoters=[STATE]))
    (voter,) = read_quorum(answer(0, said), 0, METADATA_TOPIC).voters
    assert (voter.last_fetch, voter.last_caught_up) == (None, None)
    (voter,) = read_quorum(answer(1, said), 1, METADATA_TOPIC).voters
    assert (voter.key.directory_id, voter.last_fetch) == (ZERO_UUID, 40)


def test_an_error_of_the_whole_request_needs_no_partition():
    found = read_quorum(answer(2, errorCode=31), 2, METADATA_TOPIC)
    assert found.error == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert (found.voters, found.observers, found.high_watermark) == ((), (), -1)


def test_an_error_of_the_partition_comes_with_the_leader():
    said = described(errorCode=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    found = read_quorum(answer(2, topic(said)), 2, METADATA_TOPIC)
    assert (found.error, found.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 1)


@pytest.mark.parametrize(
    "topics",
    [
        (),
        (topic(),),
        (topic(described(1)),),
        (topic(described(), name="other"),),
        (topic(described()), topic(described())),
        (topic(described(), described()),),
    ],
)
def test_an_answer_about_anything_but_the_partition_is_none(topics):
    with pytest.raises(CorruptDataError, match="must be about __cluster_metadata-0 alone"):
        read_quorum(answer(2, *topics), 2, METADATA_TOPIC)


class Leader:
    """A connection to a leader that answers every request with the same message."""

    address = "leader:9093"

    def __init__(self, said):
        self.said = said
        self.asked = None

    async def call(self, api, message):
        self.asked = decode(api.request, 2, encode(api.request, 2, message))
        return WireResponse(2, self.said)


def test_a_request_names_the_partition():
    leader = Leader(answer(2, topic(described(1), name="orders")))
    assert asyncio.run(query_quorum(leader, "orders", 1)).high_watermark == 8
    topics = [{"topicName": "orders", "partitions": [{"partitionIndex": 1}]}]
    assert leader.asked == {"topics": topics}


def test_an_answer_about_another_partition_counts_as_none():
    leader = Leader(answer(2, topic(described(1), name="orders")))
    with pytest.raises(UnreachablePeerError) as raised:
        asyncio.run(query_quorum(leader, "orders", 0))
    said = "leader:9093: DescribeQuorum: a response must be about orders-0 alone"
    assert str(raised.value) == said


def test_no_other_module_reads_the_voters_of_an_answer():
    """`currentVoters` is written where a replica answers, and read by read_quorum. The field of
    quorum-state with that name is another one."""
    readers = set()
    for path in REPLICA.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_key = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
            if is_key and node.slice.value == "currentVoters":
                readers.add(str(path.relative_to(REPLICA)))
    assert readers == {"wire/describe_quorum.py", "format/quorum_state.py"}
