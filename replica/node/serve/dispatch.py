"""Finds the row of a request's RPC, checks the client, and makes the answer. The size of the answer
to a fetch is limited by the memory that the node has for answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from replica.errors import DataError, FileSystemError
from replica.model.kafka_errors import ErrorCode
from replica.node.notice import Seldom
from replica.node.rpcs import READER_FETCH, RPCS, draft_rpc
from replica.node.serve.admission import Admission
from replica.node.serve.callers import is_reader_fetch
from replica.node.serve.forwarding import Forwarder
from replica.node.serve.partition import ServedPartition
from replica.node.serve.rpc import Rpc
from replica.node.serve.voters import Voters
from replica.wire.apis import APIS
from replica.wire.header import WireRequest
from replica.wire.schema import Message
from replica.wire.server import Client

_MAX_INT = 2**31 - 1


def with_room(request: WireRequest, room: int) -> WireRequest:
    """The fetch `request`, whose answer is limited to `room` bytes, but always holds at least one
    whole batch."""
    message = request.message
    asked = message.get("maxBytes", _MAX_INT)
    return request if asked <= room else replace(request, message={**message, "maxBytes": room})


class Dispatch:
    """The handler that the wire server calls.

    draft_key: the API key of FetchQuorumRecords; None if this API isn't served.
    room: a function that gives the most bytes that the answer to a fetch may have now. Fetches of
        voters are not limited.
    served: the versions of each API, by API key.
    apis: the APIs by API key.
    asked: the number of requests that have arrived, by API, including refused requests.
    denied: the number of requests that were refused because the client may not send such requests.
    """

    def __init__(
        self,
        partition: ServedPartition,
        voters: Voters,
        forwarder: Forwarder,
        seldom: Seldom,
        draft_key: int | None,
        room: Callable[[], int],
    ) -> None:
        self.asked: Counter[str] = Counter()
        self.denied = 0
        self._rpcs = RPCS if draft_key is None else {**RPCS, draft_key: draft_rpc(draft_key)}
        self.served = {key: rpc.api.versions for key, rpc in self._rpcs.items()}
        self.apis = {**APIS, **{key: rpc.api for key, rpc in self._rpcs.items()}}
        self._partition = partition
        self._admission = Admission(partition, voters, seldom)
        self._forwarder = forwarder
        self._room = room

    async def __call__(self, client: Client, request: WireRequest) -> Message | None:
        """The answer to a request; None for a request that gets no answer. Raises StoppedError
        after an error has stopped the replica, even for a request that was being handled.

        If a file of this replica can't be read or has damaged bytes, the replica stops. No
        acknowledged record is lost, because other replicas have the record.
        """
        self.asked[str(request.api)] += 1
        try:
            answer = await self._answer(client, request, self._rpc(request))
        except (DataError, FileSystemError) as error:
            if error.path is not None:
                self._partition.driver.fail(error)
            raise
        self._partition.driver.check()
        return answer

    def is_voters(self, client: Client, request: WireRequest) -> bool:
        """Whether only a voter may send this request, and the client is known to be that voter."""
        return self._admission.is_voters(client, request, self._rpc(request))

    def _rpc(self, request: WireRequest) -> Rpc:
        return READER_FETCH if is_reader_fetch(request) else self._rpcs[request.api.key]

    async def _answer(self, client: Client, request: WireRequest, rpc: Rpc) -> Message | None:
        error = await self._admission.error_of(client, request, rpc)
        if error is not ErrorCode.NONE:
            self.denied += 1
            return rpc.refusal(self._partition, request, error)
        if rpc.is_fetch and not self._admission.is_voters(client, request, rpc):
            request = with_room(request, self._room())
        leader = self._forwarder.leader_of(request, rpc)
        if leader is not None:
            return await self._forwarder.forward(request, leader, rpc)
        return await rpc.answer(self._partition, client, request)
