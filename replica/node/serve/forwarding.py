"""Forwards administrators' requests from a replica that doesn't lead to the leader.

Kafka's brokers do the same (KIP-590), in an Envelope request that names the caller. Here the
replica that forwards the request checks the caller's role, and the leader trusts replicas whose
principals the settings name as voters.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from replica.errors import PeerError, UnsupportedByPeerError
from replica.model.kafka_errors import ErrorCode
from replica.node.leader import ask_leader, leader_address
from replica.node.serve.callers import ADMINISTRATORS
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import Rpc
from replica.wire.client import ClientConfig
from replica.wire.header import WireRequest
from replica.wire.pool import Address
from replica.wire.schema import Message

FORWARDER = "kraftlake-forwarder"
"""The client id of forwarded requests. A replica that gets such a request and doesn't lead answers
so, and doesn't forward the request again."""

AT_ONCE = 8
"""The number of forwarded requests that may wait at the leader at once: this many of the requests
that everybody may send, and as many of those that only administrators may send. Each request has a
connection of its own."""


def was_forwarded(request: WireRequest, rpc: Rpc) -> bool:
    """Whether the request says that a replica forwarded it. Any client can claim that, but the
    claim gives rights only to voters."""
    return rpc.is_forwarded and request.client_id == FORWARDER


class Forwarder:
    """Forwards requests to the leader. config: the settings of connections to peers; ask_leader
    says how long an answer may take."""

    def __init__(self, partition: ServedPartition, config: ClientConfig) -> None:
        self._partition = partition
        self._config = replace(config, client_id=FORWARDER)
        self._anybodys = asyncio.Semaphore(AT_ONCE)
        self._changing = asyncio.Semaphore(AT_ONCE)

    def leader_of(self, request: WireRequest, rpc: Rpc) -> Address | None:
        """The leader to forward the request to. None where this replica answers it."""
        if not rpc.is_forwarded or was_forwarded(request, rpc) or self._partition.always_leads:
            return None
        return leader_address(self._partition.driver)

    async def forward(self, request: WireRequest, leader: Address, rpc: Rpc) -> Message:
        """The leader's answer. REQUEST_TIMED_OUT where none came: the change may still happen."""
        # Requests that everybody may send must not delay an administrator who changes the quorum.
        slots = self._changing if rpc.callers is ADMINISTRATORS else self._anybodys
        try:
            async with slots:
                answer = await ask_leader(
                    leader, self._config, request.api, request.message, request.version
                )
        except UnsupportedByPeerError as error:
            return _failed(ErrorCode.UNSUPPORTED_VERSION, error)
        except PeerError as error:
            return _failed(ErrorCode.REQUEST_TIMED_OUT, error)
        if answer["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            # The caller has the role, but the leader refuses this replica, which it doesn't know as
            # a voter.
            return {"errorCode": int(ErrorCode.NOT_LEADER_OR_FOLLOWER)}
        return answer


def _failed(error: ErrorCode, why: PeerError) -> Message:
    return {"errorCode": int(error), "errorMessage": f"the leader, {why}"}
