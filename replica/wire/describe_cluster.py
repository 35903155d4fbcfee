"""Asks a node to describe its cluster by DescribeCluster, which brokers and controllers serve
(KIP-919)."""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import UnsupportedByPeerError
from replica.model.kafka_errors import ErrorCode
from replica.wire.apis.cluster import BROKERS, CONTROLLERS, DESCRIBE_CLUSTER
from replica.wire.apis.quorum import VOTE
from replica.wire.client import Connection
from replica.wire.pool import Address


@dataclass(frozen=True, slots=True)
class ClusterNodes:
    """The nodes of a cluster."""

    cluster_id: str
    leader_id: int
    """The answer's controller id. From a controller: the active controller as this node knows it,
    or -1. From a broker: any unfenced broker (KIP-590), so it doesn't say who leads."""
    nodes: dict[int, Address]
    """The addresses of the brokers by node id; if a controller was asked, the addresses of the
    controllers."""


def is_controller(connection: Connection) -> bool:
    """Whether the node is a controller: only controllers name Vote in ApiVersions."""
    return VOTE.key in connection.versions


async def describe_cluster(connection: Connection, *, fenced: bool = False) -> ClusterNodes | None:
    """The nodes of the same kind as the asked node. None if the node refuses the request or doesn't
    serve it (controllers serve it since Kafka 3.7). fenced: whether to include fenced brokers."""
    kind = CONTROLLERS if is_controller(connection) else BROKERS
    request = {"endpointType": kind, "includeFencedBrokers": fenced and kind == BROKERS}
    try:
        answer = (await connection.call(DESCRIBE_CLUSTER, request)).message
    except UnsupportedByPeerError:
        return None
    if answer["errorCode"] != ErrorCode.NONE:
        return None
    nodes = {node["brokerId"]: (node["host"], node["port"]) for node in answer["brokers"]}
    return ClusterNodes(answer["clusterId"], answer["controllerId"], nodes)
