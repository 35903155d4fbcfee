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
"""Makes the answer to a request. None sends no answer."""
Refusal = Callable[[ServedPartition, WireRequest, ErrorCode], Message]
"""Makes the response that says the same error about everything that the request asked."""


def error_alone(partition: ServedPartition, request: WireRequest, error: ErrorCode) -> Message:
    """A refusal for responses that have one error code."""
    return {"errorCode": int(error)}


@dataclass(frozen=True, slots=True)
class Rpc:
    """One request with its response.

    versions: the served ones. is_forwarded: a replica that doesn't lead forwards the request to the
    leader. is_fetch: the answer takes as many bytes as there is room for, and clients send the
    request again and again. translation: for requests that the consensus core answers.
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
