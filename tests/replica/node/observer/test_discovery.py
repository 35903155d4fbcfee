"""What is learned from nodes that answer as Kafka's brokers and controllers of several releases do
(tests/interop asks real ones)."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from replica.errors import NoLeaderError, UsageError
from replica.model.kafka_errors import ErrorCode
from replica.node.observer.discovery import discover_quorum
from replica.wire.apis.cluster import DESCRIBE_CLUSTER
from replica.wire.apis.quorum import DESCRIBE_QUORUM, VOTE
from replica.wire.client import ClientConfig
from replica.wire.server import Server, Service

CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"
BROKER = {DESCRIBE_CLUSTER.key: range(3), DESCRIBE_QUORUM.key: range(3)}
CONTROLLER = {**BROKER, VOTE.key: range(3)}
DENIED = int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
ENDPOINTS = {1: (("CONTROLLER", "c1", 9093), ("INSIDE", "c1", 9094)), 2: (("INSIDE", "c2", 9094),)}


def cluster(*nodes, cluster_id=CLUSTER):
    found = [{"brokerId": n, "host": host, "port": port} for n, host, port in nodes]
    return {"clusterId": cluster_id, "brokers": found, "endpointType": 1}


def quorum(endpoints=None, error=0):
    """Led by node 1; error: beside the partition."""
    states = [{"replicaId": n, "logEndOffset": 7, "replicaDirectoryId": CLUSTER} for n in (1, 2)]
    described = {"partitionIndex": 0, "leaderId": 1, "leaderEpoch": 5, "highWatermark": 7}
    described |= {"errorCode": error, "currentVoters": states, "observers": []}
    nodes = [
        {"nodeId": n, "listeners": [{"name": a, "host": b, "port": c} for a, b, c in found]}
        for n, found in (endpoints or {}).items()
    ]
    topic = {"topicName": "__cluster_metadata", "partitions": [described]}
    return {"topics": [topic], "nodes": nodes}


def discovered(*nodes):
    """nodes: (APIs served, answer to DescribeCluster, answer to DescribeQuorum), the first of which
    is asked first; an answer may be a function of the ports of all of them."""

    async def main():
        async with asyncio.timeout(20), AsyncExitStack() as stack:
            ports = []

            def handler(answers):
                async def answer(_, request):
                    found = answers[request.api.key]
                    return found(ports) if callable(found) else found

                return answer

            for served, described, led in nodes:
                answers = {DESCRIBE_CLUSTER.key: described, DESCRIBE_QUORUM.key: led}
                server = Server(Service(handler(answers), served))
                ports.append(await server.start("127.0.0.1", 0))
                stack.push_async_callback(server.close)
            first = [("127.0.0.1", ports[0])]
            return await discover_quorum(first, ClientConfig(timeout_s=5.0)), ports

    return asyncio.run(main())


def test_a_broker_tells_the_cluster_and_where_the_controllers_listen():
    view, _ = discovered((BROKER, cluster((11, "b", 9092)), quorum(ENDPOINTS)))

    assert view.cluster_id == CLUSTER
    assert view.node_ids == {11}
    assert view.listener == "CONTROLLER"
    assert view.controllers == (("c1", 9093),)
    assert [voter.key.node_id for voter in view.voters] == [1, 2]


def test_a_broker_of_old_does_not_so_controllers_must_be_named():
    old = {DESCRIBE_CLUSTER.key: range(1), DESCRIBE_QUORUM.key: range(2)}
    with pytest.raises(UsageError, match="name controllers"):
        discovered((old, cluster((11, "b", 9092)), quorum()))


def test_a_controller_that_does_not_lead_names_the_one_that_does():
    def controllers(ports):
        return cluster(*((n, "127.0.0.1", port) for n, port in enumerate(ports, 1)))

    follower = quorum(error=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    nodes = ((CONTROLLER, controllers, follower), (CONTROLLER, controllers, quorum()))
    view, ports = discovered(*nodes)

    assert view.quorum.leader_id == 1
    assert view.controllers == tuple(("127.0.0.1", port) for port in ports)
    # where DescribeQuorum tells no endpoints, those of DescribeCluster do
    assert [voter.endpoints[0].port for voter in view.voters] == ports


def test_the_listener_is_the_one_that_was_reached():
    def endpoints(ports):
        reached = (("CONTROLLER", "c1", 9093), ("INSIDE", "127.0.0.1", ports[0]))
        return quorum({**ENDPOINTS, 1: reached})

    view, ports = discovered((CONTROLLER, cluster(), endpoints))

    assert view.listener == "INSIDE"
    assert view.controllers == (("127.0.0.1", ports[0]), ("c2", 9094))


def test_facts_that_the_nodes_refuse_to_tell_stay_unknown():
    nobody = {**cluster(cluster_id=""), "errorCode": DENIED}
    view, ports = discovered((CONTROLLER, nobody, {"errorCode": DENIED, "topics": []}))

    assert (view.cluster_id, view.quorum) == (None, None)
    assert view.controllers == (("127.0.0.1", ports[0]),)


def test_a_quorum_without_a_leader_is_an_error_to_try_again_later():
    follower = quorum(error=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    with pytest.raises(NoLeaderError, match="NOT_LEADER_OR_FOLLOWER"):
        discovered((CONTROLLER, cluster(), follower))


def test_a_node_that_answers_about_another_partition_is_passed_over_with_the_reason():
    other = {**quorum(), "topics": [{"topicName": "other", "partitions": []}]}
    with pytest.raises(NoLeaderError, match="must be about __cluster_metadata-0 alone"):
        discovered((CONTROLLER, cluster(), other))


def test_a_node_that_names_a_voter_twice_is_passed_over_with_the_reason():
    twice = quorum(ENDPOINTS)
    (partition,) = twice["topics"][0]["partitions"]
    partition["currentVoters"] *= 2
    with pytest.raises(NoLeaderError, match="names a voter twice"):
        discovered((CONTROLLER, cluster(), twice))


def test_nodes_of_two_clusters_are_refused():
    def other(ports):
        return cluster((2, "127.0.0.1", ports[1]))

    follower = quorum(error=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    second = (CONTROLLER, cluster(cluster_id="gT_wAAAAAAAAAAAAAAAAAA"), quorum())
    with pytest.raises(UsageError, match="belongs to cluster gT_w"):
        discovered((CONTROLLER, other, follower), second)
