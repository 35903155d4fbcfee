"""An administrator finds the leader among nodes that don't lead, lag or refuse."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from replica.admin.describing import describe_quorum
from replica.errors import NoLeaderError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import ZERO_UUID
from replica.model.voters import Endpoint
from replica.wire.apis.cluster import DESCRIBE_CLUSTER
from replica.wire.apis.quorum import DESCRIBE_QUORUM, VOTE
from replica.wire.client import ClientConfig
from replica.wire.versions import Features
from tests.interop.kafka_node import free_ports
from tests.replica.wire import loopback

TOPIC = "__cluster_metadata"
DIRECTORY = "D" * 21 + "A"


def state(node_id, log_end, fetched=5, caught_up=5):
    return {
        **{"replicaId": node_id, "replicaDirectoryId": DIRECTORY, "logEndOffset": log_end},
        **{"lastFetchTimestamp": fetched, "lastCaughtUpTimestamp": caught_up},
    }


class Node:
    """A controller of a quorum of two. It leads if `error` is NONE."""

    def __init__(self, error="NONE", leader_id=1, knows_cluster=True):
        self.error, self.leader_id, self.knows_cluster = ErrorCode[error], leader_id, knows_cluster
        self.ports = {}
        self.asked = []

    async def __call__(self, client, request):
        self.asked.append(request.api)
        if request.api is DESCRIBE_CLUSTER:
            assert request.message["endpointType"] == 2
            nodes = [
                {"brokerId": node_id, "host": "127.0.0.1", "port": port}
                for node_id, port in self.ports.items()
            ]
            return {"clusterId": "c", "controllerId": self.leader_id, "brokers": nodes}
        partition = {"partitionIndex": 0, "errorCode": int(self.error)}
        if self.error is ErrorCode.NONE:
            partition |= {
                **{"leaderId": 1, "leaderEpoch": 4, "highWatermark": 9},
                **{"currentVoters": [state(1, 10, -1, 50), state(2, 9)], "observers": []},
            }
        listeners = [{"name": "CONTROLLER", "host": "n2", "port": 9093}]
        return {
            "topics": [{"topicName": TOPIC, "partitions": [partition]}],
            "nodes": [{"nodeId": 2, "listeners": listeners}],
        }

    def serving(self, newest=2):
        served = {VOTE.key: VOTE.versions, DESCRIBE_QUORUM.key: range(newest + 1)}
        if self.knows_cluster:
            served[DESCRIBE_CLUSTER.key] = DESCRIBE_CLUSTER.versions
        features = Features({}, {"kraft.version": 1}, 9)
        return loopback.running(self, served=served, features=lambda: features)


def described(*nodes, asked=(0,), newest=2):
    """The quorum that is found by asking the nodes at these places first."""

    async def main():
        async with asyncio.timeout(30), AsyncExitStack() as stack:
            servers = [await stack.enter_async_context(node.serving(newest)) for node in nodes]
            ports = [server.port for server in servers]
            for node in nodes:
                node.ports = dict(enumerate(ports, 1))
            bootstrap = [("127.0.0.1", ports[place]) for place in asked]
            return await describe_quorum(bootstrap, ClientConfig(timeout_s=5.0))

    return asyncio.run(main())


def test_a_controller_that_does_not_lead_names_the_one_that_does():
    leader, follower = Node(), Node("NOT_LEADER_OR_FOLLOWER")
    found = described(leader, follower, asked=(1,))
    assert (found.cluster_id, found.leader_id, found.epoch, found.high_watermark) == ("c", 1, 4, 9)
    assert [voter.log_end for voter in found.voters] == [10, 9]
    assert found.voters[1].listeners == (Endpoint("CONTROLLER", "n2", 9093),)
    assert found.voters[1].key.directory_id == DIRECTORY
    assert found.features == {"kraft.version": 1}
    assert (found.lag(found.voters[1]), found.ago(found.voters[1].last_fetch)) == (1, 45)


def test_before_describe_cluster_the_nodes_given_are_asked_in_turn():
    old = Node("NOT_LEADER_OR_FOLLOWER", knows_cluster=False)
    leader = Node(knows_cluster=False)
    found = described(old, leader, asked=(0, 1))
    assert (found.cluster_id, found.leader_id) == (None, 1)


@pytest.mark.parametrize("newest", [0, 1])
def test_an_older_leader_tells_less(newest):
    found = described(Node(), newest=newest)
    follower = found.voters[1]
    assert (follower.key.directory_id, follower.listeners) == (ZERO_UUID, ())
    assert follower.last_fetch == (5 if newest else None)


def test_without_a_leader_every_reason_is_told():
    (port,) = free_ports(1)

    async def main():
        candidate = Node("NOT_LEADER_OR_FOLLOWER", leader_id=-1)
        async with candidate.serving() as server:
            candidate.ports = {1: server.port}
            bootstrap = [("127.0.0.1", port), ("127.0.0.1", server.port)]
            with pytest.raises(NoLeaderError) as caught:
                await describe_quorum(bootstrap, ClientConfig(timeout_s=5.0))
            assert candidate.asked.count(DESCRIBE_QUORUM) == 1
            assert str(caught.value) == (
                f"127.0.0.1:{port}: no connection: Connection refused; "
                f"127.0.0.1:{server.port}: does not lead"
            )

    asyncio.run(main())


def test_a_node_that_answers_about_another_partition_is_passed_over_with_the_reason():
    class Other(Node):
        async def __call__(self, client, request):
            answer = await super().__call__(client, request)
            return answer if request.api is DESCRIBE_CLUSTER else {**answer, "topics": []}

    with pytest.raises(NoLeaderError, match="must be about __cluster_metadata-0 alone"):
        described(Other())


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        ("CLUSTER_AUTHORIZATION_FAILED", "needs Describe on the cluster"),
        ("UNKNOWN_TOPIC_OR_PARTITION", "another topic is replicated there"),
    ],
)
def test_a_refusal_is_told_with_what_to_do(error, hint):
    with pytest.raises(NoLeaderError, match=f"DescribeQuorum: {error} .*{hint}"):
        described(Node(error))
