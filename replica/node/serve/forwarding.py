"""Administrators' requests that reach a replica that doesn't lead, sent on to the one that does.

Kafka's brokers do the same (KIP-590), in an Envelope that names the caller; here the caller's role
is checked where it came in, and the leader trusts those that are named as voters.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from replica.errors import PeerError, UnreachablePeerError, UnsupportedByPeerError
from replica.node.serve.partition import ServedPartition
from replica.raft.roles.follower import Follower
from replica.wire.apis.membership import ADD_RAFT_VOTER, REMOVE_RAFT_VOTER, UPDATE_FEATURES
from replica.wire.apis.quorum import DESCRIBE_QUORUM
from replica.wire.client import ClientConfig, Connection
from replica.wire.error_codes import ErrorCode
from replica.wire.header import Request
from replica.wire.pool import Address
from replica.wire.schema import Message

FORWARDER = "kraftlake-forwarder"
"""The client id of what is forwarded: who doesn't lead either answers so, and forwards no more."""

FORWARDED = frozenset(
    api.key for api in (DESCRIBE_QUORUM, ADD_RAFT_VOTER, REMOVE_RAFT_VOTER, UPDATE_FEATURES)
)
"""API keys; each of their responses has one error code for all."""

_LONGEST_MS = 60_000
"""How long a request may name as its own timeout; Kafka's default.api.timeout.ms."""


def is_forwarded(request: Request) -> bool:
    """Whether a replica sent it on. Anybody can say so; it gives no right to who isn't a voter."""
    return request.api.key in FORWARDED and request.client_id == FORWARDER


class Forwarder:
    """A connection for each request: one that waits for its commit must not delay another, least of
    all a fetch. config: as for peers, with the time an answer may take beyond what the request
    itself allows."""

    def __init__(self, partition: ServedPartition, config: ClientConfig) -> None:
        self._partition = partition
        self._config = config

    def leader_of(self, request: Request) -> Address | None:
        """Where to send it on to; None where it is to be answered here."""
        partition = self._partition
        role = partition.driver.host.raft.role
        if request.api.key not in FORWARDED or is_forwarded(request) or partition.always_leads:
            return None
        if not isinstance(role, Follower):
            return None
        listener = partition.driver.host.config.default_listener
        found = (e for e in role.leader_endpoints if e.name == listener)
        return next(((each.host, each.port) for each in found), None)

    async def forward(self, request: Request, leader: Address) -> Message:
        """The leader's answer. REQUEST_TIMED_OUT where none came: a change may still happen."""
        try:
            answer = await self._exchange(request, leader)
        except UnsupportedByPeerError as error:
            return _failed(ErrorCode.UNSUPPORTED_VERSION, error)
        except PeerError as error:
            return _failed(ErrorCode.REQUEST_TIMED_OUT, error)
        if answer["errorCode"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            # the caller may; it's this replica that the leader doesn't know as a voter
            return {"errorCode": int(ErrorCode.NOT_LEADER_OR_FOLLOWER)}
        return answer

    async def _exchange(self, request: Request, leader: Address) -> Message:
        api, version, allowed_ms = request.api, request.version, request.message.get("timeoutMs", 0)
        timeout_s = self._config.timeout_s + min(max(allowed_ms, 0), _LONGEST_MS) / 1000
        config = replace(self._config, client_id=FORWARDER, timeout_s=timeout_s)
        try:
            async with asyncio.timeout(self._config.timeout_s):
                connection = await Connection.connect(*leader, config)
        except TimeoutError as error:
            address = f"{leader[0]}:{leader[1]}"
            raise UnreachablePeerError(address, "no connection in time") from error
        try:
            if version not in connection.versions.get(api.key, ()):
                raise UnsupportedByPeerError(connection.address, f"{api} v{version} isn't served")
            return (await connection.call(api, request.message, version)).message
        finally:
            await connection.close()


def _failed(error: ErrorCode, why: PeerError) -> Message:
    return {"errorCode": int(error), "errorMessage": f"the leader, {why}"}
