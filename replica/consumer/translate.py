"""Translates a session's requests to Kafka's, and Kafka's responses to the session's answers.
Messages are dicts, as in replica.wire. All functions are pure.

Readers have the replica id -1, use no fetch session, and read uncommitted records. A metadata log
has no transactions of producers. Readers of other topics get the records of aborted transactions
too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from replica.consumer.selector import PartitionView, ReplicaView
from replica.consumer.values import (
    EndOfEpoch,
    EpochEnded,
    Fetch,
    Fetched,
    ListedOffset,
    ListOffset,
    Metadata,
    ResetPolicy,
)
from replica.errors import KraftlakeError
from replica.model.epochs import UNDEFINED_OFFSET, OffsetAndEpoch
from replica.model.kafka_errors import ErrorCode, error_name, error_of
from replica.model.keys import ZERO_UUID
from replica.wire.apis.fetching import Timestamp
from replica.wire.describe_quorum import DescribedQuorum
from replica.wire.schema import Message

EXPECTED = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""The error codes that answers to a reader's requests may have, including NONE."""

NEWEST_FETCH_BY_NAME = 12
"""The newest version of Fetch that gives the topic by its name."""
_MAX_WAIT_MS = 500
_MIN_BYTES, _MAX_BYTES = 1, 1024 * 1024
"""Kafka's fetch.min.bytes and max.partition.fetch.bytes. A first batch that is larger than the
maximum is returned whole."""
_CONSUMER = -1
_NO_SESSION = -1
_READ_UNCOMMITTED = 0
_TIMESTAMPS = {
    ResetPolicy.EARLIEST: Timestamp.EARLIEST,
    ResetPolicy.LATEST: Timestamp.LATEST,
}


@dataclass(frozen=True, slots=True)
class TopicPartition:
    """The partition that is read."""

    topic: str
    partition: int = 0
    topic_id: str = ZERO_UUID
    """The topic's id; ZERO_UUID before the first metadata, and if the brokers know no topic ids."""


class UnexpectedAnswerError(KraftlakeError):
    """A node answered with an error that no reader expects, or about another partition."""


def metadata_request(partition: TopicPartition) -> Message:
    return {"topics": [{"name": partition.topic}], "allowAutoTopicCreation": False}


def read_metadata(partition: TopicPartition, response: Message) -> Metadata:
    """The partition's metadata. Replicas on brokers that aren't live are left out, because no
    client can connect to them. Raises UnexpectedAnswerError as read_error does."""
    topics = [topic for topic in response["topics"] if topic["name"] == partition.topic]
    if topics and topics[0]["errorCode"]:
        return Metadata(None, error=read_error(topics[0]["errorCode"]))
    partitions = [each for topic in topics for each in topic["partitions"]]
    found = [each for each in partitions if each["partitionIndex"] == partition.partition]
    if not found:
        return Metadata(None, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    (topic,), (view,) = topics, found
    brokers = {broker["nodeId"]: broker for broker in response["brokers"]}
    replicas = tuple(
        ReplicaView(
            node_id,
            brokers[node_id]["host"],
            brokers[node_id]["port"],
            brokers[node_id]["rack"],
            in_sync=node_id in view["isrNodes"],
        )
        for node_id in view["replicaNodes"]
        if node_id in brokers
    )
    leader_id = view["leaderId"] if view["leaderId"] in brokers else -1
    return Metadata(PartitionView(leader_id, replicas), view["leaderEpoch"], topic["topicId"])


def fetch_request(partition: TopicPartition, ask: Fetch) -> Message:
    asked = {
        "partition": partition.partition,
        "currentLeaderEpoch": ask.leader_epoch,
        "fetchOffset": ask.position.offset,
        "partitionMaxBytes": _MAX_BYTES,
    }
    named = {"topic": partition.topic, "topicId": partition.topic_id, "partitions": [asked]}
    return {
        "replicaId": _CONSUMER,
        "maxWaitMs": _MAX_WAIT_MS,
        "minBytes": _MIN_BYTES,
        "maxBytes": _MAX_BYTES,
        "isolationLevel": _READ_UNCOMMITTED,
        "sessionEpoch": _NO_SESSION,
        "topics": [named],
        "rackId": ask.rack,
    }


def read_fetch(response: Message) -> Fetched:
    if response["errorCode"]:
        return Fetched(read_error(response["errorCode"]))
    found = _only_partition(response["responses"])
    preferred = found["preferredReadReplica"]
    return Fetched(
        read_error(found["errorCode"]),
        found["records"] or b"",
        found["highWatermark"],
        found["logStartOffset"],
        None if preferred < 0 else preferred,
    )


def end_of_epoch_request(partition: TopicPartition, ask: EndOfEpoch) -> Message:
    asked = {
        "partition": partition.partition,
        "currentLeaderEpoch": ask.leader_epoch,
        "leaderEpoch": ask.position.epoch,
    }
    return {
        "replicaId": _CONSUMER,
        "topics": [{"topic": partition.topic, "partitions": [asked]}],
    }


def read_end_of_epoch(response: Message) -> EpochEnded:
    found = _only_partition(response["topics"])
    end = OffsetAndEpoch(found["endOffset"], found["leaderEpoch"])
    return EpochEnded(read_error(found["errorCode"]), end)


def list_offset_request(partition: TopicPartition, timeout_ms: int, ask: ListOffset) -> Message:
    asked = {
        "partitionIndex": partition.partition,
        "currentLeaderEpoch": ask.leader_epoch,
        "timestamp": _TIMESTAMPS[ask.policy],
    }
    return {
        "replicaId": _CONSUMER,
        "isolationLevel": _READ_UNCOMMITTED,
        "topics": [{"name": partition.topic, "partitions": [asked]}],
        "timeoutMs": timeout_ms,
    }


def read_listed_offset(response: Message) -> ListedOffset:
    found = _only_partition(response["topics"])
    return ListedOffset(read_error(found["errorCode"]), found["offset"], found["leaderEpoch"])


def with_lag(view: PartitionView, quorum: DescribedQuorum) -> PartitionView:
    """The view with the lag of each replica by the leader's answer. The view is unchanged if the
    answer is an error or has no high watermark."""
    end = quorum.high_watermark
    if quorum.error or end == UNDEFINED_OFFSET:
        return view
    told = {each.key.node_id: each.log_end for each in quorum.replicas}
    lags = {node_id: max(0, end - log_end) for node_id, log_end in told.items() if log_end >= 0}
    seen = (replace(replica, lag=lags.get(replica.node_id)) for replica in view.replicas)
    return replace(view, replicas=tuple(seen))


def read_error(code: int) -> ErrorCode:
    """The error with this number. Raises UnexpectedAnswerError for an error that isn't in EXPECTED,
    because the same request would fail again."""
    error = error_of(code)
    if error not in EXPECTED or error != code:
        raise UnexpectedAnswerError(f"answered with {error_name(code)}")
    return error


def _only_partition(topics: list[Message]) -> Message:
    partitions = [found for topic in topics for found in topic["partitions"]]
    if len(partitions) != 1:
        raise UnexpectedAnswerError(f"answered for {len(partitions)} partitions, not 1")
    found: Message = partitions[0]
    return found
