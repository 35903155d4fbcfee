"""The one partition that is replicated, and what all messages about it have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replica.errors import CorruptDataError, KraftlakeError
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.voters import Endpoint, Endpoints, VoterSet
from replica.raft.messages import PeerResponse
from replica.wire.schema import Message

_TOP_LEVEL = (
    ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION,
)  # fmt: skip
"""Errors that stand at the top of a response, for the whole request. All other errors stand beside
the partition."""


class InvalidPartitionError(KraftlakeError):
    """The request isn't about the replicated partition. The answer is INVALID_REQUEST, as in Kafka,
    which has only one such partition too (KafkaRaftClient.hasValidTopicPartition)."""

    code = ErrorCode.INVALID_REQUEST


@dataclass(frozen=True, slots=True)
class ReplicatedPartition:
    """The replicated partition, whose number is 0, and facts that messages about it need. topic,
    topic_id: its topic. listener: the name of the listener whose endpoints answers hold; endpoints
    from answers get this name. voters: the voters with their endpoints, for DescribeQuorum. rack:
    this node's rack. Each fetch of this node names it, so that the leader can send clients of that
    rack to this node (KIP-392)."""

    topic: str
    topic_id: str
    listener: str = "CONTROLLER"
    voters: VoterSet = VoterSet()  # noqa: RUF009 (frozen)
    rack: str = ""

    def of_request(
        self, topics: Iterable[Message], name: str = "topicName", index: str = "partitionIndex"
    ) -> Message:
        """The partition's entry in a request. name, index: the names of the API's fields for a
        topic's name and a partition's number.

        Raises InvalidPartitionError where the request names another partition, no partition, or
        several.
        """
        own = self.topic_id if name == "topicId" else self.topic
        entries = [(topic[name], entry) for topic in topics for entry in topic["partitions"]]
        if len(entries) == 1:
            named, entry = entries[0]
            if (named, entry[index]) == (own, 0):
                found: Message = entry
                return found
        raise InvalidPartitionError(f"only {self.topic}-0 is replicated here")

    def of_response(
        self, topics: Iterable[Message], name: str = "topicName", index: str = "partitionIndex"
    ) -> Message:
        """The partition's entry in a response. Raises CorruptDataError where the response is about
        another partition."""
        try:
            return self.of_request(topics, name, index)
        except InvalidPartitionError as error:
            raise CorruptDataError(f"a response must be about {self.topic}-0 alone") from error

    def topics(
        self, entry: Message, name: str = "topicName", index: str = "partitionIndex"
    ) -> list[Message]:
        """The array of topics with this one entry."""
        own = self.topic_id if name == "topicId" else self.topic
        return [{name: own, "partitions": [{index: 0, **entry}]}]


def is_top_level(error: ErrorCode) -> bool:
    return error in _TOP_LEVEL


def listeners(endpoints: Endpoints) -> list[Message]:
    """All endpoints of a node, with their names."""
    return [{"name": e.name, "host": e.host, "port": e.port} for e in endpoints]


def endpoints_in(found: Iterable[Message]) -> Endpoints:
    return tuple(Endpoint(entry["name"], entry["host"], entry["port"]) for entry in found)


def node_endpoints(partition: ReplicatedPartition, response: PeerResponse) -> list[Message]:
    """The leader's endpoints as an answer names them; empty where they are unknown."""
    if response.leader_id == NO_NODE:
        return []
    return [
        {"nodeId": response.leader_id, "host": each.host, "port": each.port}
        for each in response.leader_endpoints
        if each.name == partition.listener
    ]


def leader_endpoints(
    partition: ReplicatedPartition, nodes: Iterable[Message], leader_id: int
) -> Endpoints:
    """The leader's endpoint among the nodes that a response names."""
    return tuple(
        Endpoint(partition.listener, node["host"], node["port"])
        for node in nodes
        if node["nodeId"] == leader_id
    )


def directory(key: ReplicaKey | None) -> str:
    return ZERO_UUID if key is None else key.directory_id
