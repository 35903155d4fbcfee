"""DescribeQuorum of whoever leads, through any controller or broker (KIP-595, KIP-919).

A broker sends the request on; a controller that doesn't lead names the leader, by DescribeCluster.
"""

from __future__ import annotations

from collections.abc import Sequence

from replica.admin.quorum import Quorum, Replica
from replica.errors import NoLeaderError, PeerError
from replica.model.keys import ReplicaKey
from replica.model.topic import METADATA_TOPIC
from replica.wire.apis.quorum import DESCRIBE_QUORUM
from replica.wire.client import Answer, ClientConfig, Connection
from replica.wire.cluster import ClusterNodes, describe_cluster
from replica.wire.error_codes import ErrorCode, error_name
from replica.wire.pool import Address
from replica.wire.schema import Message

_SINCE_TIMES = 1
"""The first version of DescribeQuorum that tells when a replica fetched (KIP-836)."""
_HINTS = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "the principal needs Describe on the cluster",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "another topic is replicated there",
    ErrorCode.INVALID_REQUEST: "another topic is replicated there",
}


async def describe_quorum(
    bootstrap: Sequence[Address], config: ClientConfig, topic: str = METADATA_TOPIC
) -> Quorum:
    """Ask one node after the other, and those that they name, until the leader has answered.

    Raises NoLeaderError.
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
        if isinstance(found, Quorum):
            return found
        reasons[address] = f"{address[0]}:{address[1]}: does not lead"
        waiting = [*found, *waiting]
    raise NoLeaderError("; ".join(dict.fromkeys(reasons.values())))


async def _ask(address: Address, config: ClientConfig, topic: str) -> Quorum | list[Address]:
    """The quorum, or whom else to ask."""
    connection = await Connection.connect(*address, config)
    try:
        request = {"topics": [{"topicName": topic, "partitions": [{"partitionIndex": 0}]}]}
        answer = await connection.call(DESCRIBE_QUORUM, request)
        cluster = await describe_cluster(connection)
    finally:
        await connection.close()
    code = answer.message["errorCode"] or _partition(answer)["errorCode"]
    if code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_CONTROLLER):
        return _leader_first(cluster)
    if code != ErrorCode.NONE:
        hint = f" ({_HINTS[code]})" if code in _HINTS else ""
        raise PeerError(connection.address, f"DescribeQuorum: {error_name(code)}{hint}")
    finalized = connection.api_versions["finalizedFeatures"]
    cluster_id = None if cluster is None else cluster.cluster_id or None
    return _quorum(answer, cluster_id, {f["name"]: f["maxVersionLevel"] for f in finalized})


def _leader_first(cluster: ClusterNodes | None) -> list[Address]:
    if cluster is None:
        return []
    leader = cluster.nodes.get(cluster.leader_id)
    return [*([] if leader is None else [leader]), *cluster.nodes.values()]


def _partition(answer: Answer) -> Message:
    """The one partition of the response; an error where there is none."""
    partitions = (each for topic in answer.message["topics"] for each in topic["partitions"])
    return next(partitions, {"errorCode": ErrorCode.UNKNOWN_SERVER_ERROR})


def _quorum(answer: Answer, cluster_id: str | None, features: dict[str, int]) -> Quorum:
    found, has_times = _partition(answer), answer.version >= _SINCE_TIMES
    listeners = {
        node["nodeId"]: tuple((e["name"], e["host"], e["port"]) for e in node["listeners"])
        for node in answer.message["nodes"]
    }

    def replica(state: Message) -> Replica:
        return Replica(
            ReplicaKey(state["replicaId"], state["replicaDirectoryId"]),
            state["logEndOffset"],
            state["lastFetchTimestamp"] if has_times else None,
            state["lastCaughtUpTimestamp"] if has_times else None,
            listeners.get(state["replicaId"], ()),
        )

    return Quorum(
        cluster_id,
        found["leaderId"],
        found["leaderEpoch"],
        found["highWatermark"],
        tuple(replica(state) for state in found["currentVoters"]),
        tuple(replica(state) for state in found["observers"]),
        features,
    )
