"""Appends batches by Produce with acks=all to the leader of a partition. The caller learns the
outcome of every batch.

A batch is sent again only if it certainly was not appended. An administrator's batches have no
sequence numbers, so the leader couldn't recognize a batch that it has already appended.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from replica.errors import (
    AuthenticationError,
    KraftlakeError,
    NoLeaderError,
    PeerError,
    UnreachablePeerError,
    UnsupportedByPeerError,
)
from replica.model.kafka_errors import ErrorCode, error_name
from replica.model.keys import NO_NODE, ZERO_UUID
from replica.wire.apis.cluster import METADATA
from replica.wire.apis.writing import PRODUCE
from replica.wire.client import ClientConfig, Connection
from replica.wire.pool import Address, Pool
from replica.wire.schema import Message
from replica.wire.versions import Identity

_PAUSE_S = 0.1
_IDLE_S = 5.0
"""The time (s) after which an idle connection is replaced by a new one. The server may have closed
the old connection, and a batch that is sent over a closed connection has an unknown outcome."""
_ACKS_ALL = -1
_NEWEST_BY_NAME = 12
"""The newest version of Produce that gives the topic by its name."""
_NOT_APPENDED = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    )
)
_UNKNOWN = frozenset(
    (
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.KAFKA_STORAGE_ERROR,
    )
)
_HINTS: dict[int, str] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "only administrators append: its server.properties names "
    "them in kraftlake.principals.administrator",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "only administrators append",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "no such topic to write to; the metadata log of Kafka's "
    "own controllers takes records from nobody else",
}


class AppendRefusedError(KraftlakeError):
    """The batch is not in the log. The leader would refuse it again."""


class UnknownOutcomeError(KraftlakeError):
    """It is unknown whether the batch is or will be committed."""


@dataclass(frozen=True, slots=True)
class Appended:
    """The batch is committed, and its first offset is `base_offset`."""

    base_offset: int
    epoch: int | None
    """The leader's epoch; None if the leader didn't send it."""


_Leader = tuple[int, Address]
"""The leader's node id and address."""


class Appender:
    """Appends to partition 0 of one topic. Only one task at a time may use this object.

    bootstrap: the addresses of the nodes to ask first.
    timeout_s: the longest time for each batch from the first try to its commit.
    """

    def __init__(
        self, bootstrap: Sequence[Address], topic: str, config: ClientConfig, timeout_s: float
    ) -> None:
        self._bootstrap = tuple(bootstrap)
        self._topic = topic
        self._topic_id = ZERO_UUID
        self._timeout_s = timeout_s
        self._config = config
        self._pool = Pool(config)
        self._used_at = time.monotonic()
        self._cluster_id: str | None = None
        """The cluster id in the first answer. No batch is sent to nodes of another cluster."""
        self._leader: _Leader | None = None

    async def append(self, batch: bytes) -> Appended:
        """Append a batch. Raises UnknownOutcomeError if the batch may be in the log. After
        AppendRefusedError, NoLeaderError and AuthenticationError the batch is not in the log."""
        deadline = time.monotonic() + self._timeout_s
        if time.monotonic() - self._used_at > _IDLE_S:
            await self._pool.close()
        trouble = "no leader is known"
        while (left := deadline - time.monotonic()) > 0:
            try:
                connection = await self._connected()
                answer = await self._produce(connection, batch, left)
            except _NotAppendedError as error:
                trouble, self._leader = str(error), error.leader
                await asyncio.sleep(_PAUSE_S)
                continue
            self._used_at = time.monotonic()
            return answer
        raise NoLeaderError(f"not appended within {self._timeout_s:g} s: {trouble}")

    async def close(self) -> None:
        await self._pool.close()

    async def _connected(self) -> Connection:
        """Connect to the leader."""
        reasons = []
        if self._leader is None:
            for address in self._bootstrap:
                try:
                    self._leader = await self._ask_leader(address)
                    break
                except UnreachablePeerError as error:
                    reasons.append(str(error))
        if self._leader is None:
            raise _NotAppendedError("; ".join(reasons))
        node_id, address = self._leader
        identity = Identity(self._cluster_id, node_id) if self._cluster_id else None
        try:
            return await self._pool.connection(address, identity)
        except AuthenticationError:
            raise
        except PeerError as error:
            raise _NotAppendedError(str(error)) from error

    async def _ask_leader(self, address: Address) -> _Leader:
        connection = await self._pool.connection(address)
        request = {"topics": [{"name": self._topic}], "allowAutoTopicCreation": False}
        try:
            answer = (await connection.call(METADATA, request)).message
        except UnsupportedByPeerError as error:
            raise AppendRefusedError(
                f"{connection.address}: a controller of Kafka's own, whose metadata log takes "
                "records from nobody else"
            ) from error
        cluster_id = answer["clusterId"] or ""
        if cluster_id != (self._cluster_id or cluster_id):
            why = f"of cluster {cluster_id} now, not of {self._cluster_id} any more"
            raise UnreachablePeerError(connection.address, why)
        self._cluster_id = cluster_id
        topic = next((each for each in answer["topics"] if each["name"] == self._topic), None)
        if topic is None or topic["errorCode"] != ErrorCode.NONE:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic["errorCode"]
            raise AppendRefusedError(f"{connection.address}: {self._topic}: {_said(code, None)}")
        self._topic_id = topic["topicId"]
        leader_id = next(
            (p["leaderId"] for p in topic["partitions"] if p["partitionIndex"] == 0), NO_NODE
        )
        for node in answer["brokers"]:
            if node["nodeId"] == leader_id:
                return leader_id, (node["host"], node["port"])
        raise UnreachablePeerError(connection.address, "knows no leader")

    async def _produce(self, connection: Connection, batch: bytes, left_s: float) -> Appended:
        try:
            version = connection.version_of(PRODUCE)
        except UnsupportedByPeerError as error:
            raise AppendRefusedError(f"{error}: it takes no records") from error
        if self._topic_id == ZERO_UUID:
            version = min(version, _NEWEST_BY_NAME)
        entry = {"index": 0, "records": batch}
        topic = {"name": self._topic, "topicId": self._topic_id, "partitionData": [entry]}
        # the leader's timeout ends before this client's, so that this client gets the answer
        timeout_ms = max(1, int(min(left_s, self._config.timeout_s * 0.9) * 1000))
        request = {"acks": _ACKS_ALL, "timeoutMs": timeout_ms, "topicData": [topic]}
        try:
            answer = await connection.call(PRODUCE, request, version)
        except PeerError as error:
            raise UnknownOutcomeError(str(error)) from error
        return _read(connection.address, answer.message)


class _NotAppendedError(Exception):
    """The batch was not appended, and may be sent again. leader: the leader that the answer names;
    None if it names no leader."""

    def __init__(self, why: str, leader: _Leader | None = None) -> None:
        super().__init__(why)
        self.leader = leader


def _read(address: str, answer: Message) -> Appended:
    found = [each for topic in answer["responses"] for each in topic["partitionResponses"]]
    if len(found) != 1:
        raise UnknownOutcomeError(f"{address}: an answer about {len(found)} partitions")
    (partition,) = found
    code, leader = partition["errorCode"], partition["currentLeader"]
    if code == ErrorCode.NONE:
        epoch = leader["leaderEpoch"]
        return Appended(partition["baseOffset"], None if epoch < 0 else epoch)
    text = f"{address}: {_said(code, partition['errorMessage'])}"
    if code in _NOT_APPENDED:
        nodes = {node["nodeId"]: (node["host"], node["port"]) for node in answer["nodeEndpoints"]}
        leader_id = leader["leaderId"]
        named = (leader_id, nodes[leader_id]) if leader_id in nodes else None
        raise _NotAppendedError(text, named)
    if code in _UNKNOWN:
        raise UnknownOutcomeError(text)
    raise AppendRefusedError(text)


def _said(code: int, message: str | None) -> str:
    said = message or _HINTS.get(code)
    return f"{error_name(code)} ({said})" if said else error_name(code)
