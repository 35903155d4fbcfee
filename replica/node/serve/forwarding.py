"""Administrators' requests that reach a replica that doesn't lead, sent on to the one that does.

Kafka's brokers do the same (KIP-590), in an Envelope that names the caller; here the caller's role
is checked where it came in, and the leader trusts those that are named as voters.
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
from replica.wire.header import Request
from replica.wire.pool import Address
from replica.wire.schema import Message

FORWARDER = "kraftlake-forwarder"
"""The client id of what is forwarded: who doesn't lead either answers so, and forwards no more."""

AT_ONCE = 8
"""How many requests that anybody may send are at the leader at once, and how many changes beside
them: each takes a connection of its own."""


def was_forwarded(request: Request, rpc: Rpc) -> bool:
    """Whether a replica sent it on. Anybody can say so; it gives no right to who isn't a voter."""
    return rpc.is_forwarded and request.client_id == FORWARDER


class Forwarder:
    """config: as for peers; see ask_leader for how long an answer may take."""

    def __init__(self, partition: ServedPartition, config: ClientConfig) -> None:
        self._partition = partition
        self._config = replace(config, client_id=FORWARDER)
        self._anybodys = asyncio.Semaphore(AT_ONCE)
        self._changing = asyncio.Semaphore(AT_ONCE)

    def leader_of(self, request: Request, rpc: Rpc) -> Address | None:
        """Where to send it on to; None where it is to be answered here."""
        if not rpc.is_forwarded or was_forwarded(request, rpc) or self._partition.always_leads:
            return None
        return leader_address(self._partition.driver)

    async def forward(self, request: Request, leader: Address, rpc: Rpc) -> Message:
        """The leader's answer. REQUEST_TIMED_OUT where none came: a change may still happen."""
        # Apart: what anybody may ask must not delay an administrator who changes the quorum.
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
            # the caller may; it's this replica that the leader doesn't know as a voter
            return {"errorCode": int(ErrorCode.NOT_LEADER_OR_FOLLOWER)}
        return answer


def _failed(error: ErrorCode, why: PeerError) -> Message:
    return {"errorCode": int(error), "errorMessage": f"the leader, {why}"}
