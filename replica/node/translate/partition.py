"""The replicated partition, and the parts that all messages about this partition share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from replica.errors import CorruptDataError, KraftlakeError
from replica.message.schema import Field
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE
from replica.model.voters import Endpoint, Endpoints, VoterSet
from replica.raft.messages import PeerResponse
from replica.wire.schema import Message, Structure

_TOP_LEVEL = (
    ErrorCode.INCONSISTENT_CLUSTER_ID, ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION,
)  # fmt: skip
"""The errors that are at the top of a response, for the whole request. All other errors are in the
partition's entry."""


class RefusedRequestError(KraftlakeError):
    """A request, or its part about one partition, is refused. The function that makes the answer
    catches this error.

    error: Kafka's error for the answer.
    why: the reason, in one line for the answer.
    """

    def __init__(self, error: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why


@dataclass(frozen=True, slots=True)
class ReplicatedPartition:
    """The replicated partition, whose number is 0, and facts that messages about it need."""

    topic: str
    """The name of the partition's topic."""
    topic_id: str
    """The id of the partition's topic."""
    listener: str = "CONTROLLER"
    """The name of the listener for voters: answers have its endpoints, and endpoints in answers get
    this name."""
    voters: VoterSet = VoterSet()  # noqa: RUF009 (frozen)
    """The voters with their endpoints, for DescribeQuorum."""
    rack: str = ""
    """This node's rack. Each fetch of this node names it, so that the leader can send clients of
    the same rack to this node (KIP-392)."""

    def of_request(
        self, topics: Iterable[Message], name: str = "topicName", index: str = "partitionIndex"
    ) -> Message:
        """The partition's entry in a request. name, index: the names of the API's fields for a
        topic's name and a partition's number.

        Raises RefusedRequestError if the request names another partition, no partition, or several.
        The error is INVALID_REQUEST, as in Kafka (KafkaRaftClient.hasValidTopicPartition).
        """
        own = self.topic_id if name == "topicId" else self.topic
        entries = [(topic[name], entry) for topic in topics for entry in topic["partitions"]]
        if len(entries) == 1:
            named, entry = entries[0]
            if (named, entry[index]) == (own, 0):
                found: Message = entry
                return found
        raise RefusedRequestError(
            ErrorCode.INVALID_REQUEST, f"only {self.topic}-0 is replicated here"
        )

    def of_response(
        self, topics: Iterable[Message], name: str = "topicName", index: str = "partitionIndex"
    ) -> Message:
        """The partition's entry in a response. Raises CorruptDataError if the response is about
        another partition."""
        try:
            return self.of_request(topics, name, index)
        except RefusedRequestError as error:
            raise CorruptDataError(f"a response must be about {self.topic}-0 alone") from error

    def topics(
        self, entry: Message, name: str = "topicName", index: str = "partitionIndex"
    ) -> list[Message]:
        """The array of topics with this one entry."""
        own = self.topic_id if name == "topicId" else self.topic
        return [{name: own, "partitions": [{index: 0, **entry}]}]


def topics_field(structure: Structure) -> Field | None:
    """The array of topics in a request or a response: the only array of structures that end with an
    array of structures (the partitions). None if a message isn't about topics."""
    arrays = (each for each in structure.fields if each.is_array and each.fields)
    return next((each for each in arrays if each.fields[-1].fields), None)


def is_top_level(error: ErrorCode) -> bool:
    return error in _TOP_LEVEL


def listeners(endpoints: Endpoints) -> list[Message]:
    """All endpoints of a node, with their names."""
    return [{"name": e.name, "host": e.host, "port": e.port} for e in endpoints]


def endpoints_in(entries: Iterable[Message]) -> Endpoints:
    return tuple(Endpoint(entry["name"], entry["host"], entry["port"]) for entry in entries)


def node_endpoints(partition: ReplicatedPartition, response: PeerResponse) -> list[Message]:
    """The leader's endpoints in an answer; empty if the endpoints are unknown."""
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
