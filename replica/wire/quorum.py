"""DescribeQuorum: the request, and its answer as a value (KIP-595, KIP-836, KIP-853).

Its users are administrators, an observer before it fetches, a consumer that chooses a replica, and
the consensus core.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from replica.errors import CorruptDataError
from replica.model.epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoint, Endpoints
from replica.wire.schema import Message

_TIMES_SINCE = 1
"""The first version that tells when a replica fetched (KIP-836)."""


@dataclass(frozen=True, slots=True)
class DescribedReplica:
    """One replica. key: directory_id is ZERO_UUID where the answer gives none. log_end: exclusive,
    -1 while unknown.

    last_fetch, last_caught_up: ms since the epoch by the leader's clock; -1 where the leader knows
    no such time, None where its release doesn't tell. listeners: of voters only.
    """

    key: ReplicaKey
    log_end: int
    last_fetch: int | None
    last_caught_up: int | None
    listeners: Endpoints = ()


@dataclass(frozen=True, slots=True)
class DescribedQuorum:
    """The leader's answer. error: Kafka's number, of the request or of the partition; beside an
    error of the partition, the leader may still be given. high_watermark: exclusive, -1 while
    unknown. listeners: by node id, as far as the answer names nodes."""

    error: int
    leader_id: int = NO_NODE
    epoch: int = UNDEFINED_EPOCH
    high_watermark: int = UNDEFINED_OFFSET
    voters: tuple[DescribedReplica, ...] = ()
    observers: tuple[DescribedReplica, ...] = ()
    listeners: Mapping[int, Endpoints] = field(default_factory=dict)


def quorum_request(topic: str, partition: int = 0) -> Message:
    """The request, in any version."""
    return {"topics": [{"topicName": topic, "partitions": [{"partitionIndex": partition}]}]}


def read_quorum(message: Message, version: int, topic: str, partition: int = 0) -> DescribedQuorum:
    """The answer to quorum_request. Raises CorruptDataError where it is about another partition."""
    if message["errorCode"] != ErrorCode.NONE:
        return DescribedQuorum(message["errorCode"])
    entries = [
        (each["topicName"], entry) for each in message["topics"] for entry in each["partitions"]
    ]
    if [(name, entry["partitionIndex"]) for name, entry in entries] != [(topic, partition)]:
        raise CorruptDataError(f"a response must be about {topic}-{partition} alone")
    entry = entries[0][1]
    listeners = {
        node["nodeId"]: tuple(Endpoint(e["name"], e["host"], e["port"]) for e in node["listeners"])
        for node in message["nodes"]
    }
    has_times = version >= _TIMES_SINCE

    def replicas(states: Iterable[Message]) -> tuple[DescribedReplica, ...]:
        return tuple(
            DescribedReplica(
                ReplicaKey(state["replicaId"], state["replicaDirectoryId"]),
                state["logEndOffset"],
                state["lastFetchTimestamp"] if has_times else None,
                state["lastCaughtUpTimestamp"] if has_times else None,
                listeners.get(state["replicaId"], ()),
            )
            for state in states
        )

    return DescribedQuorum(
        entry["errorCode"],
        entry["leaderId"],
        entry["leaderEpoch"],
        entry["highWatermark"],
        replicas(entry["currentVoters"]),
        replicas(entry["observers"]),
        listeners,
    )
