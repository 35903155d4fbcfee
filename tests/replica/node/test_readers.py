"""What a leader tells readers about its epochs (KIP-320)."""

import asyncio
from types import SimpleNamespace

from replica.model.kafka_errors import ErrorCode
from replica.node.serve.partition import ServedPartition
from replica.node.serve.readers import offset_for_leader_epoch
from replica.node.settings import Topic
from replica.wire.apis.fetching import OFFSET_FOR_LEADER_EPOCH
from replica.wire.header import WireRequest
from tests.replica.raft.host import batch, fetch
from tests.replica.raft.test_high_watermark import leader

READ_IN_EPOCH_1 = {"partition": 0, "currentLeaderEpoch": 2, "leaderEpoch": 1}


def end_of_epoch_1(host):
    """As a consumer is answered that has read in epoch 1."""
    partition = ServedPartition(Topic(), SimpleNamespace(raft=host.raft), ())
    topic = {"topic": Topic().name, "partitions": [dict(READ_IN_EPOCH_1)]}
    message = {"replicaId": -1, "topics": [topic]}
    request = WireRequest(OFFSET_FOR_LEADER_EPOCH, 4, 1, None, message)
    response = asyncio.run(offset_for_leader_epoch(partition, None, request))
    return response["topics"][0]["partitions"][0]


def test_a_new_leader_lets_readers_wait_until_it_knows_what_is_committed():
    # (-1, -1) would mean that their epoch is gone: they would begin anew, or give up
    host = leader(log=(batch(0, 4, 1),), epoch=1)
    assert host.raft.high_watermark is None
    assert end_of_epoch_1(host)["errorCode"] == ErrorCode.OFFSET_NOT_AVAILABLE
    fetch(host, 2, 6)
    answer = end_of_epoch_1(host)
    assert (answer["errorCode"], answer["leaderEpoch"], answer["endOffset"]) == (0, 1, 5)
