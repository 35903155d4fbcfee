"""Decides whether a client may send a request, by the role that the request needs."""

from __future__ import annotations

from replica.model.kafka_errors import ErrorCode
from replica.node.notice import Notice, Seldom
from replica.node.serve.forwarding import was_forwarded
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import Rpc
from replica.node.serve.voters import VoterClaim, Voters
from replica.wire.header import WireRequest
from replica.wire.server import Client


class Admission:
    """Decides whether to answer a request. seldom: gets notices about clients that were refused
    although they claim to be a voter."""

    def __init__(self, partition: ServedPartition, voters: Voters, seldom: Seldom) -> None:
        self._partition = partition
        self._authorizer = voters.authorizer
        self._voters = voters
        self._seldom = seldom

    async def error_of(self, client: Client, request: WireRequest, rpc: Rpc) -> ErrorCode:
        """NONE if the client may send the request, else CLUSTER_AUTHORIZATION_FAILED. The error is
        BROKER_NOT_AVAILABLE if a later check may show that the client is a voter: peers try again
        after this error, but not after other errors."""
        authorizer, callers = self._authorizer, rpc.callers
        if was_forwarded(request, rpc) and authorizer.is_named_voter(client.principal):
            return ErrorCode.NONE
        named = self._named_voters(request, rpc)
        if named is None:
            may = authorizer.may(client.principal, *callers.roles)
            return ErrorCode.NONE if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        if authorizer.may(client.principal, *callers.instead):
            return ErrorCode.NONE
        verdict = await self._voters.verdict(client, named)
        if verdict is VoterClaim.ADMITTED:
            return ErrorCode.NONE
        if verdict is not VoterClaim.UNKNOWN:
            self._tell(client, rpc, named)
        if verdict is VoterClaim.REFUSED:
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return ErrorCode.BROKER_NOT_AVAILABLE

    def is_voters(self, client: Client, request: WireRequest, rpc: Rpc) -> bool:
        """Whether only a voter may send this request, and the client is known to be that voter."""
        named = self._named_voters(request, rpc)
        return named is not None and self._voters.has_shown(client, named)

    def _named_voters(self, request: WireRequest, rpc: Rpc) -> frozenset[int] | None:
        """The node ids in whose names the request is sent, if only voters may send it; None for
        other requests."""
        if rpc.callers.speaks_for is None:
            return None
        named = frozenset(rpc.callers.speaks_for(request))
        if rpc.callers.roles and not named & set(self._partition.raft.log.voters.ids):
            return None
        return named

    def _tell(self, client: Client, rpc: Rpc, named: frozenset[int]) -> None:
        if rpc.is_fetch:
            return  # Kafka's controllers fetch before they listen; they are admitted later
        ids = ", ".join(map(str, sorted(named)))
        text = (
            f"{rpc} in the name of node {ids} refused: {client.address}, "
            f"{client.principal}, has not shown to be that voter"
        )
        self._seldom(client.host, Notice("voter-refused", text, {"address": client.address}))
