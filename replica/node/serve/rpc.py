"""A row of the table of RPCs (replica.node.rpcs). A request that the consensus core answers is
translated for the core, and the core's answer is translated back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from replica.model.kafka_errors import ErrorCode
from replica.node.serve.callers import Callers
from replica.node.serve.partition import ServedPartition
from replica.node.translate.partition import RefusedRequestError, ReplicatedPartition
from replica.node.translate.translation import Translation
from replica.raft.messages import FetchRequest
from replica.wire.header import WireRequest
from replica.wire.schema import Api, Message
from replica.wire.server import Client

Answer = Callable[[ServedPartition, Client, WireRequest], Awaitable[Message | None]]
"""A function that makes the answer to a request. None means that no answer is sent."""
Refusal = Callable[[ServedPartition, WireRequest, ErrorCode], Message]
"""A function that makes a response with the same error for all parts of the request."""


def error_alone(partition: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
    """The refusal for an API whose responses have a single error code."""
    return {"errorCode": int(error)}


@dataclass(frozen=True, slots=True)
class Rpc:
    """The row of an API that a replica serves."""

    api: Api
    callers: Callers
    """The clients that may send the request."""
    answer: Answer
    """A function that makes the answer to the request."""
    refusal: Refusal = error_alone
    """A function that makes the answer to a client that may not send the request."""
    is_forwarded: bool = False
    """Whether a replica that doesn't lead forwards the request to the leader."""
    is_fetch: bool = False
    """Whether the request is a kind of fetch: the free memory limits its answer, and clients repeat
    the request."""
    translation: Translation | None = None
    """The translation of a request that the consensus core answers; None for other requests."""

    def __str__(self) -> str:
        return str(self.api)


LONGEST_WAIT_MS = 60_000
"""The longest time (ms) that a fetch waits, even if the fetch asks for more: the node notices a
lost client only when it sends an answer."""


def core_rpc(
    translation: Translation,
    callers: Callers,
    refusal: Refusal = error_alone,
    *,
    is_forwarded: bool = False,
    is_fetch: bool = False,
) -> Rpc:
    """The row of an RPC that the consensus core answers."""
    side = translation.server
    assert side is not None, f"{translation.api} is answered elsewhere"

    async def answer(partition: ServedPartition, client: Client, request: WireRequest) -> Message:
        """The core's response to a peer or an administrator. Raises DataError for a malformed
        request."""
        topic, voters = partition.topic, partition.raft.log.voters
        listener = partition.driver.config.default_listener
        about = ReplicatedPartition(topic.name, topic.id, listener, voters)
        try:
            asked = side.read(about, request.message, request.version)
        except RefusedRequestError as refused:
            return {"errorCode": int(refused.error)}
        if isinstance(asked, FetchRequest):
            asked = replace(asked, max_wait_ms=min(asked.max_wait_ms, LONGEST_WAIT_MS))
            rack = request.message.get("rackId")
            if rack and voters.is_voter(asked.replica):
                partition.racks[asked.replica.node_id] = rack
        return side.write(about, await partition.driver.ask(asked), request.version)

    return Rpc(translation.api, callers, answer, refusal, is_forwarded, is_fetch, translation)
