"""Which function answers which request, and who may ask it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from replica.node.notice import Seldom
from replica.node.serve import cluster, configs, readers, writing
from replica.node.serve.admission import REPLICA_FETCHES, Admission, is_reader_fetch
from replica.node.serve.controllers import Controllers
from replica.node.serve.forwarding import Forwarder
from replica.node.serve.partition import ServedPartition
from replica.node.serve.quorum import answer_by_core
from replica.node.serve.reader_fetch import fetch_by_reader
from replica.node.serve.refusals import refused
from replica.node.serve.room import unlimited, with_room
from replica.node.serve.voters import Voters
from replica.node.translate import table
from replica.node.translate.draft import translation
from replica.wire.apis import APIS
from replica.wire.apis.cluster import DESCRIBE_CLUSTER, METADATA
from replica.wire.apis.configs import ALTER_CONFIGS, DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from replica.wire.apis.fetching import (
    FETCH,
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
)
from replica.wire.apis.membership import (
    UNREGISTER_CONTROLLER,
)
from replica.wire.apis.writing import DELETE_RECORDS, PRODUCE
from replica.wire.connections import address_of
from replica.wire.error_codes import ErrorCode
from replica.wire.header import Request
from replica.wire.schema import Message
from replica.wire.server import Client

_OWN = (
    *(METADATA, DESCRIBE_CLUSTER, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, FETCH),
    *(PRODUCE, DELETE_RECORDS, DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS),
    UNREGISTER_CONTROLLER,
)
_BY_TOPIC = frozenset(
    api.key for api in (METADATA, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH, PRODUCE, DELETE_RECORDS)
)

SERVED: dict[int, range] = {
    **table.SERVED,
    **{api.key: api.versions for api in _OWN},
}
"""API key -> versions. Fetch of replicas begins at 12, that of readers at 4."""


class Dispatch:
    """The wire server's handler. draft_key: of FetchQuorumRecords, None to serve none. room: how
    many bytes the answer to a fetch may have now; those to voters have as many as they ask for.

    served: API key -> versions; apis: what the keys mean. asked: how many requests were answered,
    by API; denied: how many weren't for lack of a role.
    """

    def __init__(
        self,
        partition: ServedPartition,
        voters: Voters,
        forwarder: Forwarder,
        seldom: Seldom,
        draft_key: int | None = None,
        room: Callable[[], int] = unlimited,
    ) -> None:
        self.asked: Counter[str] = Counter()
        self.denied = 0
        self.served, self.apis, self._sides = SERVED, APIS, table.BY_KEY
        fetches = REPLICA_FETCHES
        if draft_key is not None:
            draft = translation(draft_key)
            assert draft.server is not None
            self.served = {**SERVED, draft_key: draft.api.versions}
            self.apis = {**APIS, draft_key: draft.api}
            self._sides = {**table.BY_KEY, draft_key: draft.server}
            fetches = REPLICA_FETCHES | {draft_key}
        self._partition = partition
        self._fetches = fetches
        self._admission = Admission(partition, voters, fetches, seldom)
        self._forwarder = forwarder
        self._room = room
        self._controllers = Controllers(partition)

    async def __call__(self, client: Client, request: Request) -> Message | None:
        """Raises StoppedError once an error has stopped the replica: nothing is answered then, also
        not what was on its way."""
        self.asked[str(request.api)] += 1
        answer = await self._answer(client, request)
        self._partition.driver.check()
        return answer

    async def _answer(self, client: Client, request: Request) -> Message | None:
        error = await self._admission.error_of(client, request)
        if error is not ErrorCode.NONE:
            self.denied += 1
            by_topic = request.api.key in _BY_TOPIC or is_reader_fetch(request)
            return refused(
                self._partition,
                request,
                ErrorCode.TOPIC_AUTHORIZATION_FAILED if by_topic else error,
            )
        if request.api.key in self._fetches and not self.is_voters(client, request):
            request = with_room(request, self._room())
        address = address_of(client.address.rpartition(":")[0])
        if request.api is LIST_OFFSETS:
            message, version = request.message, request.version
            return await readers.list_offsets(self._partition, message, version, address)
        if is_reader_fetch(request):
            return await fetch_by_reader(self._partition, request.message, request.version, address)
        if request.api is PRODUCE:
            return await writing.produce(self._partition, request.message, client.listener)
        answer_at_once = _AT_ONCE.get(request.api.key)
        if answer_at_once is not None:
            return answer_at_once(self._partition, client, request)
        leader = self._forwarder.leader_of(request)
        if leader is not None:
            return await self._forwarder.forward(request, leader)
        if request.api is UNREGISTER_CONTROLLER:
            return await self._controllers.unregister(request.message)
        side = self._sides[request.api.key]
        return await answer_by_core(self._partition, side, request)

    def is_voters(self, client: Client, request: Request) -> bool:
        """Whether only a voter may ask so, and this client has shown to be that voter."""
        return self._admission.is_voters(client, request)


_AtOnce = Callable[[ServedPartition, Client, Request], Message]


def _by_message(answer: Callable[[ServedPartition, Message], Message]) -> _AtOnce:
    """For an API whose answer depends on neither the version nor the client."""
    return lambda partition, client, request: answer(partition, request.message)


_AT_ONCE: dict[int, _AtOnce] = {
    METADATA.key: lambda partition, client, request: cluster.metadata(
        partition, request.message, request.version, client.listener
    ),
    DESCRIBE_CLUSTER.key: lambda partition, client, request: cluster.describe_cluster(
        partition, request.message, client.listener
    ),
    OFFSET_FOR_LEADER_EPOCH.key: _by_message(readers.offset_for_leader_epoch),
    DELETE_RECORDS.key: _by_message(writing.delete_records),
    DESCRIBE_CONFIGS.key: _by_message(configs.describe_configs),
    ALTER_CONFIGS.key: _by_message(configs.alter_configs),
    INCREMENTAL_ALTER_CONFIGS.key: _by_message(configs.alter_configs),
}
"""By API key: what this node answers without waiting for anything."""
