"""A row of the table of RPCs (replica.node.rpcs)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from replica.model.kafka_errors import ErrorCode
from replica.node.serve.callers import Callers
from replica.node.serve.partition import ServedPartition
from replica.node.translate.translation import Translation
from replica.wire.header import WireRequest
from replica.wire.schema import Api, Message
from replica.wire.server import Client

Answer = Callable[[ServedPartition, Client, WireRequest], Awaitable[Message | None]]
"""A function that makes the answer to a request. None means that no answer is sent."""
Refusal = Callable[[ServedPartition, WireRequest, ErrorCode], Message]
"""A function that makes the response which gives the same error for everything that the request
asked."""


def error_alone(partition: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
    """The refusal for an API whose responses have a single error code."""
    return {"errorCode": int(error)}


@dataclass(frozen=True, slots=True)
class Rpc:
    """One API as a replica serves it.

    callers: the clients that may send the request. answer: makes the answer. refusal: makes the
    answer to a client that may not ask. versions: the versions that are served. is_forwarded:
    whether a replica that doesn't lead forwards the request to the leader. is_fetch: whether the
    request is a kind of fetch: its answer takes as many bytes as there is room for, and clients
    send it again and again. translation: the translation of a request that the consensus core
    answers; None for other requests.
    """

    api: Api
    callers: Callers
    answer: Answer
    refusal: Refusal = error_alone
    is_forwarded: bool = False
    is_fetch: bool = False
    translation: Translation | None = None

    def __str__(self) -> str:
        return str(self.api)

    @property
    def versions(self) -> range:
        return self.api.versions
