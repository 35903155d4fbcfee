"""Sends requests to the nodes by Kafka's protocol. There is one connection to each node, which is
opened when it is needed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from replica.consumer import translate, values
from replica.consumer.selector import PartitionView, ReplicaView
from replica.consumer.translate import TopicPartition, UnexpectedAnswerError
from replica.errors import (
    MisroutedConnectionError,
    PeerError,
    UnreachablePeerError,
    UnsupportedByPeerError,
)
from replica.model.kafka_errors import ErrorCode, error_name
from replica.model.keys import ZERO_UUID
from replica.wire.apis.cluster import API_VERSIONS, METADATA
from replica.wire.apis.fetching import FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH
from replica.wire.client import ClientConfig, Connection
from replica.wire.describe_quorum import query_quorum
from replica.wire.pool import Address, Pool
from replica.wire.schema import Api, Message
from replica.wire.versions import Identity


class WireConnections:
    """Sends the requests of a session to the nodes.

    bootstrap: the addresses of the nodes to ask first.
    measures: whether to measure the round-trip time and the lag of the replicas after each request
        for metadata, because the selector needs them.
    trouble: why the last request failed; empty after a fetch without an error.
    heard: the number of answers without an error, from any node to any request.
    """

    def __init__(
        self,
        bootstrap: Sequence[Address],
        partition: TopicPartition,
        config: ClientConfig | None = None,
        *,
        measures: bool = False,
    ) -> None:
        self.trouble = ""
        self.heard = 0
        self._bootstrap = tuple(bootstrap)
        self._partition = partition
        self._config = config or ClientConfig()
        self._pool = Pool(self._config)
        self._measures = measures
        self._addresses: dict[int, Address] = {}
        self._cluster_id: str | None = None
        self._must_rebootstrap = False
        """Whether the known addresses of the nodes are out of date (KIP-1102, KIP-1242)."""

    async def call(self, ask: values.Ask) -> values.Answer:
        """Send a request, and return the node's answer (see NodeConnections.call). Raises
        PeerError."""
        if isinstance(ask, values.RefreshMetadata):
            return await self._metadata()
        address = self._addresses[ask.node_id]
        try:
            answer = await self._ask(address, ask)
        except UnreachablePeerError as error:
            self._must_rebootstrap |= isinstance(error, MisroutedConnectionError)
            self.trouble = str(error)
            return _NO_ANSWER[type(ask)]
        self.heard += answer.error is ErrorCode.NONE
        if answer.error is not ErrorCode.NONE:
            self.trouble = f"{address[0]}:{address[1]}: {answer.error.name}"
        elif isinstance(ask, values.Fetch):
            self.trouble = ""
        return answer

    async def close(self) -> None:
        """Close all connections. Waiting calls end."""
        await self._pool.close()

    async def _ask(
        self, address: Address, ask: values.Fetch | values.EndOfEpoch | values.ListOffset
    ) -> values.Answer:
        known = self._cluster_id
        expected = Identity(known, ask.node_id) if known else None
        connection = await self._pool.connection(address, expected)
        try:
            if isinstance(ask, values.Fetch):
                return await self._fetch(connection, ask)
            if isinstance(ask, values.EndOfEpoch):
                return await self._end_of_epoch(connection, ask)
            timeout_ms = int(self._config.timeout_s * 1000)
            message = translate.list_offset_request(self._partition, timeout_ms, ask)
            return translate.read_listed_offset(await _call(connection, LIST_OFFSETS, message))
        except UnexpectedAnswerError as error:
            raise PeerError(connection.address, f"{type(ask).__name__}: {error}") from error

    async def _fetch(self, connection: Connection, ask: values.Fetch) -> values.Fetched:
        """Fetch by the topic's id if the metadata has one, else by the topic's name."""
        version = connection.version_of(FETCH)
        if self._partition.topic_id == ZERO_UUID:
            version = min(version, translate.NEWEST_FETCH_BY_NAME)
        message = translate.fetch_request(self._partition, ask)
        answer = await connection.call(FETCH, message, version)
        return translate.read_fetch(answer.message)

    async def _end_of_epoch(
        self, connection: Connection, ask: values.EndOfEpoch
    ) -> values.EpochEnded:
        message = translate.end_of_epoch_request(self._partition, ask)
        try:
            response = await _call(connection, OFFSET_FOR_LEADER_EPOCH, message)
        except UnsupportedByPeerError:
            return values.EpochEnded(end=None)
        return translate.read_end_of_epoch(response)

    async def _metadata(self) -> values.Metadata:
        """The metadata from the first node that answers. Connected nodes are asked first, then
        other known nodes, then the bootstrap servers. If the known addresses are out of date, only
        the bootstrap servers are asked."""
        known = () if self._must_rebootstrap else (*self._pool.connected, *self._addresses.values())
        for address in dict.fromkeys((*known, *self._bootstrap)):
            try:
                connection = await self._pool.connection(address)
                message = translate.metadata_request(self._partition)
                response = await _call(connection, METADATA, message)
                if self._is_refused(connection, response):
                    continue
                metadata = translate.read_metadata(self._partition, response)
            except UnreachablePeerError as error:
                self.trouble = str(error)
                continue
            except UnexpectedAnswerError as error:
                raise PeerError(connection.address, f"Metadata: {error}") from error
            self.heard += metadata.partition is not None
            return await self._learned(metadata)
        return values.Metadata(None)

    def _is_refused(self, connection: Connection, response: Message) -> bool:
        """Whether the whole response is an error, or comes from another cluster than earlier
        responses. Records of two clusters must not be mixed."""
        code, cluster_id = response["errorCode"], response["clusterId"] or ""
        if code != ErrorCode.NONE:
            self._must_rebootstrap |= code == ErrorCode.REBOOTSTRAP_REQUIRED
            self.trouble = f"{connection.address}: Metadata: {error_name(code)}"
            return True
        if cluster_id != (self._cluster_id or cluster_id):
            was = f"not of {self._cluster_id} any more"
            self.trouble = f"{connection.address}: of cluster {cluster_id} now, {was}"
            return True
        self._cluster_id, self._must_rebootstrap = cluster_id, False
        return False

    async def _learned(self, metadata: values.Metadata) -> values.Metadata:
        if metadata.partition is None:
            name = f"{self._partition.topic}-{self._partition.partition}"
            self.trouble = f"{name}: {metadata.error.name}"
            return metadata
        self._partition = replace(self._partition, topic_id=metadata.topic_id)
        replicas = metadata.partition.replicas
        # Known addresses stay, because the session may have newer metadata than this.
        self._addresses |= {replica.node_id: (replica.host, replica.port) for replica in replicas}
        if not self._measures:
            return metadata
        return replace(metadata, partition=await self._measured(metadata.partition))

    async def _measured(self, view: PartitionView) -> PartitionView:
        """The view with the replicas' round-trip times, and with their lag if the leader sends
        it."""
        timed = await asyncio.gather(*(self._timed(replica) for replica in view.replicas))
        seen = replace(view, replicas=tuple(timed))
        if seen.leader is None:
            return seen
        try:
            connection = await self._pool.connection(self._addresses[view.leader_id])
            asked = self._partition
            quorum = await query_quorum(connection, asked.topic, asked.partition)
            return translate.with_lag(seen, quorum)
        except PeerError:  # the leader of an ordinary topic sends no lag
            return seen

    async def _timed(self, replica: ReplicaView) -> ReplicaView:
        """The replica with the round-trip time (ms) of a cheap request. If the node doesn't answer,
        the replica has no time."""
        try:
            connection = await self._pool.connection((replica.host, replica.port))
            began = time.monotonic()
            await _call(connection, API_VERSIONS, {"clientSoftwareName": "kraftlake"})
        except PeerError:
            return replica
        return replace(replica, round_trip_ms=(time.monotonic() - began) * 1000)


_NO_ANSWER: dict[type[values.Ask], values.Fetched | values.EpochEnded | values.ListedOffset] = {
    values.Fetch: values.Fetched(ErrorCode.NETWORK_EXCEPTION),
    values.EndOfEpoch: values.EpochEnded(ErrorCode.NETWORK_EXCEPTION),
    values.ListOffset: values.ListedOffset(ErrorCode.NETWORK_EXCEPTION),
}


async def _call(connection: Connection, api: Api, message: Message) -> Message:
    return (await connection.call(api, message)).message
