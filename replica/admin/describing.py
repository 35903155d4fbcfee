"""Describes a quorum through any of its controllers or brokers (DescribeQuorum; KIP-595, KIP-919).

Only the leader can answer. A broker forwards the request to the leader. A controller that doesn't
lead names the leader in its answer to DescribeCluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from replica.errors import NoLeaderError, PeerError
from replica.model.kafka_errors import ErrorCode, error_name
from replica.model.keys import METADATA_TOPIC
from replica.wire.client import ClientConfig, Connection
from replica.wire.describe_cluster import ClusterNodes, describe_cluster
from replica.wire.describe_quorum import DescribedQuorum, query_quorum
from replica.wire.pool import Address

_HINTS: dict[int, str] = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the principal needs Describe on the cluster",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "another topic is replicated there",
    ErrorCode.INVALID_REQUEST: "another topic is replicated there",
}


async def describe_quorum(
    bootstrap: Sequence[Address], config: ClientConfig, topic: str = METADATA_TOPIC
) -> DescribedQuorum:
    """Ask one node after the other, and the nodes that they name, until the leader has answered.

    Raises NoLeaderError if none of these nodes answers as the leader.
    """
    reasons: dict[Address, str] = {}
    waiting = list(bootstrap)
    while waiting:
        address = waiting.pop(0)
        if address in reasons:
            continue
        try:
            found = await _ask(address, config, topic)
        except PeerError as error:
            reasons[address] = str(error)
            continue
        if isinstance(found, DescribedQuorum):
            return found
        reasons[address] = f"{address[0]}:{address[1]}: does not lead"
        waiting = [*found, *waiting]
    raise NoLeaderError("; ".join(dict.fromkeys(reasons.values())))


async def _ask(
    address: Address, config: ClientConfig, topic: str
) -> DescribedQuorum | list[Address]:
    """The description of the quorum by this node; or the addresses to ask next, if the node doesn't
    lead."""
    connection = await Connection.connect(*address, config)
    try:
        found = await query_quorum(connection, topic)
        cluster = await describe_cluster(connection)
    finally:
        await connection.close()
    if found.error in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_CONTROLLER):
        return _leader_first(cluster)
    if found.error != ErrorCode.NONE:
        hint = f" ({_HINTS[found.error]})" if found.error in _HINTS else ""
        raise PeerError(connection.address, f"DescribeQuorum: {error_name(found.error)}{hint}")
    finalized = connection.api_versions["finalizedFeatures"]
    return replace(
        found,
        cluster_id=None if cluster is None else cluster.cluster_id or None,
        features={feature["name"]: feature["maxVersionLevel"] for feature in finalized},
    )


def _leader_first(cluster: ClusterNodes | None) -> list[Address]:
    if cluster is None:
        return []
    leader = cluster.nodes.get(cluster.leader_id)
    return [*([] if leader is None else [leader]), *cluster.nodes.values()]
