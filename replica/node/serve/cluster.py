"""Metadata and DescribeCluster: the nodes of the quorum, with addresses at which a client can
connect.

The metadata log isn't marked as internal, because Spark's Kafka source and others silently drop
internal topics. A voter's address is the address of its listener with the same name as the client's
listener; if the voter has no such listener, the address of its first listener.
"""

from __future__ import annotations

from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.model.voters import Endpoint, Endpoints
from replica.node.serve.partition import ServedPartition
from replica.node.translate import clients
from replica.raft.roles import Leader
from replica.wire.apis.cluster import BROKERS, CONTROLLERS
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client


async def metadata(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
    """The answer to Metadata: for all topics if the request's list is null, else for the topics in
    the list."""
    wanted = request.message["topics"]
    served = _topic(partition)
    if wanted is None:
        topics = [served]
    else:
        no_name = clients.absent_name(request.version)
        topics = [_answered(partition, asked, served, no_name) for asked in wanted]
    return {
        "brokers": [
            {"nodeId": node_id, "host": endpoint.host, "port": endpoint.port, "rack": rack}
            for node_id, endpoint, rack in nodes(partition, client.listener)
        ],
        "clusterId": partition.driver.config.cluster_id,
        "controllerId": partition.leader_id,
        "topics": topics,
    }


async def describe_cluster(
    partition: ServedPartition, client: Client, request: WireRequest
) -> Message:
    """The answer to DescribeCluster: the controllers, even if the request asks for brokers."""
    asked = request.message.get("endpointType", BROKERS)
    known = asked in (BROKERS, CONTROLLERS)
    found = nodes(partition, client.listener) if known else []
    return {
        "errorCode": int(ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        "errorMessage": None if known else f"endpoint type {asked}: expected 1 or 2",
        "endpointType": asked,
        "clusterId": partition.driver.config.cluster_id,
        "controllerId": partition.leader_id,
        "brokers": [
            {
                "brokerId": node_id,
                "host": endpoint.host,
                "port": endpoint.port,
                "rack": rack,
                "isFenced": False,
            }
            for node_id, endpoint, rack in found
        ],
    }


def nodes(partition: ServedPartition, listener: str) -> list[tuple[int, Endpoint, str | None]]:
    """(node id, address, rack) of each voter and of this node. Nodes without a known address are
    left out. The address is that of the node's listener with the name `listener`, or else of the
    node's first listener. The rack is None if the rack is unknown. A node that presents itself as
    the leader (ServedPartition.always_leads) names only itself."""
    own = _listening(partition.endpoints, listener)
    found: dict[int, tuple[Endpoint, str | None]] = {}
    if not partition.always_leads:
        for voter in partition.raft.log.voters:
            endpoint = _listening(voter.endpoints, listener)
            if endpoint is not None:
                node_id = voter.key.node_id
                found[node_id] = (endpoint, partition.racks.get(node_id))
    if own is not None:
        found[partition.node_id] = (own, partition.rack or None)
    return [(node_id, *found[node_id]) for node_id in sorted(found)]


def leader_endpoint(partition: ServedPartition, listener: str) -> Endpoint | None:
    """The address of the leader's listener with the name `listener`, or else of the leader's first
    listener. None while the leader or its addresses are unknown."""
    leader = partition.leader_id
    return next((at for node, at, _ in nodes(partition, listener) if node == leader), None)


def _listening(endpoints: Endpoints, listener: str) -> Endpoint | None:
    same = [endpoint for endpoint in endpoints if endpoint.name == listener]
    return next(iter((*same, *endpoints)), None)


def _topic(partition: ServedPartition) -> Message:
    leader = partition.leader_id
    error = ErrorCode.LEADER_NOT_AVAILABLE if leader == NO_NODE else ErrorCode.NONE
    replicas, isr = _replicas(partition)
    return {
        "errorCode": 0,
        "name": partition.topic.name,
        "topicId": partition.topic.id,
        "isInternal": False,
        "partitions": [
            {
                "errorCode": int(error),
                "partitionIndex": 0,
                "leaderId": leader,
                "leaderEpoch": partition.leader_epoch,
                "replicaNodes": replicas,
                "isrNodes": isr,
                "offlineReplicas": [],
            }
        ],
    }


def _replicas(partition: ServedPartition) -> tuple[list[int], list[int]]:
    """The node ids for the fields replicas and ISR: all voters, and the voters that keep up. A
    follower doesn't know which voters keep up, so it names all voters as the ISR."""
    if partition.always_leads:
        return [partition.node_id], [partition.node_id]
    raft = partition.raft
    voters = list(raft.log.voters.ids)
    if not isinstance(raft.role, Leader):
        return voters, voters
    caught_up = {key.node_id for key in partition.in_sync(raft.role)}
    return voters, [v for v in voters if v in caught_up or v == raft.role.local.node_id]


def _answered(
    partition: ServedPartition, asked: Message, served: Message, no_name: str | None
) -> Message:
    """The answer about one topic, which the request identifies by its name or only by its id
    (KIP-516).

    asked: the topic in the request.
    served: the answer for the topic that this node serves.
    no_name: the value of the name in an answer without a name.
    """
    name = asked.get("name")
    if name == partition.topic.name or (
        name is None and asked.get("topicId") == partition.topic.id
    ):
        return served
    by_id = name is None
    error = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return without_topic(asked, error, no_name)


def without_topic(asked: Message, error: ErrorCode, no_name: str | None) -> Message:
    """An answer with an error about a topic. no_name: the value of `name` in the answer if the
    request identifies the topic only by its id."""
    name = asked.get("name")
    return {
        "errorCode": int(error),
        "name": no_name if name is None else name,
        "isInternal": False,
        "partitions": [],
        **({"topicId": asked["topicId"]} if "topicId" in asked else {}),
    }
