"""Which role a request needs, and whether its client has it."""

from __future__ import annotations

from replica.model.kafka_errors import ErrorCode
from replica.node.notice import Notice, Seldom
from replica.node.serve.forwarding import was_forwarded
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import Rpc
from replica.node.serve.voters import Verdict, Voters
from replica.wire.header import Request
from replica.wire.server import Client


class Admission:
    """seldom: told of clients that a voter's role was refused to."""

    def __init__(self, partition: ServedPartition, voters: Voters, seldom: Seldom) -> None:
        self._partition = partition
        self._authorizer = voters.authorizer
        self._voters = voters
        self._seldom = seldom

    async def error_of(self, client: Client, request: Request, rpc: Rpc) -> ErrorCode:
        """NONE where the client may ask this. BROKER_NOT_AVAILABLE, after which peers try again,
        where it may turn out to be a voter yet; others take a refusal for the end."""
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
        if verdict is Verdict.ADMITTED:
            return ErrorCode.NONE
        if verdict is not Verdict.UNTOLD:
            self._tell(client, rpc, named)
        if verdict is Verdict.FAR:
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return ErrorCode.BROKER_NOT_AVAILABLE

    def is_voters(self, client: Client, request: Request, rpc: Rpc) -> bool:
        """Whether only a voter may ask so, and this client has shown to be that voter."""
        named = self._named_voters(request, rpc)
        return named is not None and self._voters.has_shown(client, named)

    def _named_voters(self, request: Request, rpc: Rpc) -> frozenset[int] | None:
        """In whose name a request asks that only a voter may send; None for others."""
        if rpc.callers.speaks_for is None:
            return None
        named = frozenset(rpc.callers.speaks_for(request))
        if rpc.callers.roles and not named & set(self._partition.raft.log.voters.ids):
            return None
        return named

    def _tell(self, client: Client, rpc: Rpc, named: frozenset[int]) -> None:
        if rpc.is_fetch:
            return  # Kafka's controllers fetch before they listen, and are admitted soon after
        ids = ", ".join(map(str, sorted(named)))
        text = (
            f"{rpc} in the name of node {ids} refused: {client.address}, "
            f"{client.principal}, has not shown to be that voter"
        )
        self._seldom(client.host, Notice("voter-refused", text, {"address": client.address}))
