"""DescribeQuorum: sends the request, and reads the answer as a value (KIP-595, KIP-836, KIP-853).

Its users are the administrator's client, an observer before it fetches, a consumer that chooses a
replica, and replica.node.translate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from replica.errors import CorruptDataError, UnreachablePeerError
from replica.model.epochs import UNDEFINED_EPOCH, UNDEFINED_OFFSET
from replica.model.kafka_errors import ErrorCode
from replica.model.keys import NO_NODE, ReplicaKey
from replica.model.voters import Endpoint, Endpoints
from replica.wire.apis.quorum import DESCRIBE_QUORUM
from replica.wire.client import Connection
from replica.wire.schema import Message

_TIMES_SINCE = 1
"""The first version of DescribeQuorum that has the time of a replica's last fetch (KIP-836)."""


@dataclass(frozen=True, slots=True)
class DescribedReplica:
    """One replica. The times are in ms since 1970 (UTC) by the leader's clock; -1 if the leader
    doesn't know the time, None if the leader's release doesn't send the time."""

    key: ReplicaKey
    """The key of the replica. The directory id is ZERO_UUID if the answer gives no directory id."""
    log_end: int
    """The log end offset (exclusive); -1 while the log end is unknown."""
    last_fetch: int | None
    last_caught_up: int | None
    listeners: Endpoints = ()
    """The endpoints of the replica. Answers have endpoints only for voters."""


@dataclass(frozen=True, slots=True)
class DescribedQuorum:
    """A quorum as its leader describes it. `cluster_id` and `features` aren't in the answer: a
    caller that asks the node for these values adds them."""

    error: int
    """The number of Kafka's error for the request or for the partition. An answer with an error for
    the partition may also name the leader."""
    leader_id: int = NO_NODE
    epoch: int = UNDEFINED_EPOCH
    high_watermark: int = UNDEFINED_OFFSET
    """The high watermark (exclusive); -1 while the high watermark is unknown."""
    voters: tuple[DescribedReplica, ...] = ()
    observers: tuple[DescribedReplica, ...] = ()
    listeners: Mapping[int, Endpoints] = field(default_factory=dict)
    """The endpoints of the nodes that the answer names, by node id."""
    cluster_id: str | None = None
    """The id of the cluster; None if the id is unknown."""
    features: Mapping[str, int] = field(default_factory=dict)
    """The finalized level of each feature, by the feature's name."""

    @property
    def leader(self) -> DescribedReplica | None:
        """The leader's own entry; None if the answer has no such entry. If the leader has been
        removed from the voters, the leader's entry is among the observers until the removal is
        committed."""
        found = (each for each in self.replicas if each.key.node_id == self.leader_id)
        return next(found, None)

    @property
    def replicas(self) -> tuple[DescribedReplica, ...]:
        return (*self.voters, *self.observers)

    def lag(self, replica: DescribedReplica) -> int | None:
        """The number of records that the leader has and the replica lacks. None if one of the two
        log ends is unknown."""
        leader = self.leader
        if leader is None or replica.log_end < 0:
            return None
        return max(0, leader.log_end - replica.log_end)

    def ago(self, time_ms: int | None) -> int | None:
        """The time (ms) between `time_ms`, by the leader's clock, and the leader's answer. None if
        one of the two times is unknown."""
        leader = self.leader
        if time_ms is None or time_ms < 0 or leader is None or leader.last_caught_up is None:
            return None
        return max(0, leader.last_caught_up - time_ms)

    def is_caught_up(self, replica: DescribedReplica, within_ms: int) -> bool:
        """Whether the replica was at the leader's log end within the last `within_ms`; if the
        leader sends no times, whether the replica is at the leader's log end now."""
        if replica.key.node_id == self.leader_id:
            return True
        if replica.last_caught_up is None:
            return self.lag(replica) == 0
        ago = self.ago(replica.last_caught_up)
        return ago is not None and ago <= within_ms


async def query_quorum(connection: Connection, topic: str, partition: int = 0) -> DescribedQuorum:
    """The partition's quorum, or an error, as the node at the other end of the connection answers.
    Raises PeerError if no answer comes, or if the answer is about another partition."""
    request = {"topics": [{"topicName": topic, "partitions": [{"partitionIndex": partition}]}]}
    answer = await connection.call(DESCRIBE_QUORUM, request)
    try:
        return read_quorum(answer.message, answer.version, topic, partition)
    except CorruptDataError as error:
        raise UnreachablePeerError(connection.address, f"DescribeQuorum: {error}") from error


def read_quorum(message: Message, version: int, topic: str, partition: int = 0) -> DescribedQuorum:
    """The quorum that an answer to DescribeQuorum describes. version: the version of the answer.
    Raises CorruptDataError if the answer is about another partition."""
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
