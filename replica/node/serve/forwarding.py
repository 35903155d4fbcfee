"""Forwards administrators' requests from a replica that doesn't lead to the leader.

Kafka's brokers do the same (KIP-590), with an Envelope request that names the caller. Here the
forwarding replica checks the caller's role, and the leader trusts replicas whose principals the
settings name as voters.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from replica.errors import PeerError, UnsupportedByPeerError
from replica.model.kafka_errors import ErrorCode
from replica.node.listeners import addresses_on
from replica.node.serve.callers import ADMINISTRATORS
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import Rpc
from replica.raft.roles import Follower
from replica.wire.client import ClientConfig, Connection
from replica.wire.header import WireRequest
from replica.wire.pool import Address
from replica.wire.schema import Message

FORWARDER = "kraftlake-forwarder"
"""The client id of forwarded requests. A replica that gets a forwarded request and doesn't lead
refuses it, and doesn't forward it again."""

LONGEST_MS = 60_000
"""The longest timeout (ms) of a request that counts: Kafka's default.api.timeout.ms. If a request
names a longer timeout, the forwarding replica still waits only this long."""

AT_ONCE = 8
"""The most forwarded requests that wait at the leader at once: this many requests that everybody
may send, and this many that only administrators may send. Each request has its own connection."""


def was_forwarded(request: WireRequest, rpc: Rpc) -> bool:
    """Whether the request says that a replica forwarded it. Any client can say so, but only voters
    get rights by saying so."""
    return rpc.is_forwarded and request.client_id == FORWARDER


class Forwarder:
    """Forwards requests to the leader. config: the settings of connections to peers."""

    def __init__(self, partition: ServedPartition, config: ClientConfig) -> None:
        self._partition = partition
        self._config = replace(config, client_id=FORWARDER)
        self._anybodys = asyncio.Semaphore(AT_ONCE)
        self._changing = asyncio.Semaphore(AT_ONCE)

    def leader_of(self, request: WireRequest, rpc: Rpc) -> Address | None:
        """The address of the leader to which the request is forwarded. None if this replica answers
        the request itself."""
        role = self._partition.raft.role
        if not rpc.is_forwarded or was_forwarded(request, rpc) or self._partition.always_leads:
            return None
        if not isinstance(role, Follower):
            return None
        listener = self._partition.driver.config.default_listener
        return next(iter(addresses_on(listener, role.leader_endpoints)), None)

    async def forward(self, request: WireRequest, leader: Address, rpc: Rpc) -> Message:
        """The leader's answer, or an error: REQUEST_TIMED_OUT if no answer came, so that the change
        may still happen; UNSUPPORTED_VERSION if the leader doesn't serve this request;
        NOT_LEADER_OR_FOLLOWER if the leader doesn't know this replica as a voter."""
        # requests that everybody may send must not delay an administrator who changes the quorum
        slots = self._changing if rpc.callers is ADMINISTRATORS else self._anybodys
        try:
            async with slots:
                answer = await _ask(leader, self._config, request)
        except UnsupportedByPeerError as error:
            return _failed(ErrorCode.UNSUPPORTED_VERSION, error)
        except PeerError as error:
            return _failed(ErrorCode.REQUEST_TIMED_OUT, error)
        if answer["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            # the caller has the role, but the leader refuses this replica, because it isn't a known
            # voter
            return {"errorCode": int(ErrorCode.NOT_LEADER_OR_FOLLOWER)}
        return answer


async def _ask(leader: Address, config: ClientConfig, request: WireRequest) -> Message:
    """Send the leader the request over a connection of its own, because a request that waits for
    its commit must not delay others, especially fetches. Returns the answer.

    The longest wait is the config's timeout plus the request's own timeoutMs. Raises PeerError if
    no answer comes.
    """
    allowed_ms = min(max(request.message.get("timeoutMs", 0), 0), LONGEST_MS)
    patient = replace(
        config,
        timeout_s=config.timeout_s + allowed_ms / 1000,
        connect_timeout_s=min(config.connect_timeout_s or config.timeout_s, config.timeout_s),
    )
    api, version = request.api, request.version
    connection = await Connection.connect(*leader, patient)
    try:
        if version not in connection.versions.get(api.key, ()):
            raise UnsupportedByPeerError(connection.address, f"{api} v{version} isn't served")
        return (await connection.call(api, request.message, version)).message
    finally:
        await connection.close()


def _failed(error: ErrorCode, why: PeerError) -> Message:
    return {"errorCode": int(error), "errorMessage": f"the leader, {why}"}
