"""Which role a request needs, and whether its client has it."""

from __future__ import annotations

from collections.abc import Iterator

from replica.node.authorizer import Role
from replica.node.notice import Notice, Seldom
from replica.node.serve.forwarding import is_forwarded
from replica.node.serve.partition import ServedPartition
from replica.node.serve.voters import Verdict, Voters
from replica.wire.apis.configs import ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from replica.wire.apis.fetching import FETCH, FETCH_SNAPSHOT
from replica.wire.apis.membership import (
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    UNREGISTER_CONTROLLER,
    UPDATE_FEATURES,
    UPDATE_RAFT_VOTER,
)
from replica.wire.apis.quorum import BEGIN_QUORUM_EPOCH, END_QUORUM_EPOCH, VOTE
from replica.wire.apis.writing import DELETE_RECORDS, PRODUCE
from replica.wire.error_codes import ErrorCode
from replica.wire.header import Request
from replica.wire.server import Client

_SENDERS = {
    VOTE.key: "replicaId",
    BEGIN_QUORUM_EPOCH.key: "leaderId",
    END_QUORUM_EPOCH.key: "leaderId",
}
"""API key -> the field of a partition that names who asks."""
_VOTERS = frozenset((*_SENDERS, UPDATE_RAFT_VOTER.key))
_CHANGES = frozenset(
    api.key
    for api in (
        *(ADD_RAFT_VOTER, REMOVE_RAFT_VOTER, UPDATE_FEATURES, PRODUCE, DELETE_RECORDS),
        *(ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS, UNREGISTER_CONTROLLER),
    )
)


class Admission:
    """replica_fetches: the API keys of fetches by replicas. seldom: told of clients that a voter's
    role was refused to."""

    def __init__(
        self,
        partition: ServedPartition,
        voters: Voters,
        replica_fetches: frozenset[int],
        seldom: Seldom,
    ) -> None:
        self._partition = partition
        self._authorizer = voters.authorizer
        self._voters = voters
        self._fetches = replica_fetches
        self._seldom = seldom

    async def error_of(self, client: Client, request: Request) -> ErrorCode:
        """NONE where the client may ask this. BROKER_NOT_AVAILABLE, after which peers try again,
        where it may turn out to be a voter yet; others take a refusal for the end."""
        if is_forwarded(request) and self._authorizer.is_named_voter(client.principal):
            return ErrorCode.NONE
        named = self._named_voters(request)
        if named is None:
            may = self._authorizer.may(client.principal, *self._roles(request))
            return ErrorCode.NONE if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        if request.api is UPDATE_RAFT_VOTER and self._authorizer.may(
            client.principal, Role.ADMINISTRATOR
        ):
            return ErrorCode.NONE
        verdict = await self._voters.verdict(client, named)
        if verdict is Verdict.ADMITTED:
            return ErrorCode.NONE
        if verdict is not Verdict.UNTOLD:
            self._tell(client, request, named)
        if verdict is Verdict.FAR:
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return ErrorCode.BROKER_NOT_AVAILABLE

    def is_voters(self, client: Client, request: Request) -> bool:
        """Whether only a voter may ask so, and this client has shown to be that voter."""
        named = self._named_voters(request)
        return named is not None and self._voters.has_shown(client, named)

    def _roles(self, request: Request) -> tuple[Role, ...]:
        key = request.api.key
        if key in _CHANGES:
            return (Role.ADMINISTRATOR,)
        if key in self._fetches and not is_reader_fetch(request):
            return (Role.VOTER, Role.OBSERVER)
        return tuple(Role)

    def _named_voters(self, request: Request) -> frozenset[int] | None:
        """In whose name a request asks that only a voter may send; None for others. Who fetches
        under a voter's id is counted as that voter: it moves the high watermark."""
        key = request.api.key
        if key in _VOTERS:
            return frozenset(_senders(request))
        if key in self._fetches and not is_reader_fetch(request):
            node_id = _replica_id(request)
            if node_id in self._partition.driver.host.raft.log.voters.ids:
                return frozenset((node_id,))
        return None

    def _tell(self, client: Client, request: Request, named: frozenset[int]) -> None:
        if request.api.key in self._fetches:
            return  # Kafka's controllers fetch before they listen, and are admitted soon after
        ids = ", ".join(map(str, sorted(named)))
        text = (
            f"{request.api} in the name of node {ids} refused: {client.address}, "
            f"{client.principal}, has not shown to be that voter"
        )
        address = client.address.rpartition(":")[0]
        self._seldom(address, Notice("voter-refused", text, {"address": client.address}))


def is_reader_fetch(request: Request) -> bool:
    """A reader has no replica's id. Nor has an anonymous observer, but it names its cluster, as
    replicas do and consumers never do. The epoch of the last record tells nothing: some consumers
    name it too."""
    if request.api is not FETCH:
        return False
    return _replica_id(request) < 0 and request.message.get("clusterId") is None


REPLICA_FETCHES = frozenset((FETCH.key, FETCH_SNAPSHOT.key))


def _replica_id(request: Request) -> int:
    """Of a Fetch, where version 15 moved it, a FetchSnapshot or a FetchQuorumRecords."""
    message = request.message
    has_state = request.api is FETCH and request.version >= 15
    found: int = message["replicaState"]["replicaId"] if has_state else message["replicaId"]
    return found


def _senders(request: Request) -> Iterator[int]:
    if request.api is UPDATE_RAFT_VOTER:
        yield request.message["voterId"]
        return
    field = _SENDERS[request.api.key]
    for topic in request.message["topics"]:
        for partition in topic["partitions"]:
            yield partition[field]
